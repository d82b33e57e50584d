"""A worker with 1 GB among records that are made to take long."""

from __future__ import annotations

import pytest

from onward.streams.topics import Topics
from onward.tests.support.attacked_worker import Sent, attacked_worker

TOPICS = Topics()
BEGIN = b'{"program":"steps","application":"'
LIMIT = 262_144
ATTACKS = {
    "60 kB of escaped quotation marks": BEGIN + b'\\"' * 30_000,
    "262 kB of escaped quotation marks": BEGIN + b'\\"' * ((LIMIT - len(BEGIN)) // 2),
    "Tibetan vowels": BEGIN + "\u0f73".encode() * 80_000 + b'"}',
    "opening quotation marks": b'"' * LIMIT,
}


@pytest.mark.attack
async def test_records_that_take_long_hold_up_nobody(tmp_path):
    with attacked_worker(tmp_path) as worker:
        await worker.is_ready()
        for number, value in enumerate(ATTACKS.values()):
            await worker.withstands([Sent(TOPICS.applications, value, f"attack-{number}")])
        # The embedded broker keeps no more than a few megabytes.
        many = [Sent(TOPICS.applications, value, f"many-{n}-{id}") for n in range(2) for id, value in ATTACKS.items()]
        await worker.withstands(many)
        assert {letter["reason"] for letter in worker.letters} == {"malformed_json", "wrong_type"}

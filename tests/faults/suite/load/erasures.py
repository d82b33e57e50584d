"""Erasures of people who have applied."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from random import Random

import msgspec

from onward.schemas.events import Application, Erasure
from onward.schemas.headers import cloud_event_headers
from onward.schemas.kinds import ce_type
from onward.streams.programs.program import Program
from onward.streams.topics import Topics
from onward.tests.faults.suite.load.applicants import InputRecord

_NEWEST = 400
"""Who applied so few records ago has a case that waits or is open, or the worker has not read it yet."""


def erasures(
    topics: Topics, programs: Mapping[str, Program], random: Random, sent: Sequence[InputRecord]
) -> Iterator[InputRecord]:
    """Yield erasures without end: of new and of earlier applications, by application and by applicant.

    Nobody can be erased in a program that keeps rows of people.
    """
    decode = msgspec.json.Decoder(Application).decode
    while True:
        record = random.choice(sent[-_NEWEST:] if random.random() < 0.5 else sent)
        if record.topic != topics.applications or record.value is None:
            continue
        application = decode(record.value)
        if programs[application.program].keeps_people:
            continue
        if random.random() < 0.5:
            event = Erasure(application.program, application=application.application)
        else:
            event = Erasure(application.program, applicant=application.applicant)
        headers = cloud_event_headers(
            f"erasure/{random.getrandbits(64):x}", "faults", ce_type(event), time.time_ns() // 1_000_000
        )
        yield InputRecord(topics.erasures, None, msgspec.json.encode(event), headers)

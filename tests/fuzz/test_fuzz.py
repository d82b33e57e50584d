"""The quick part of ``make fuzz``: every target with its seeds, what it once failed on, and inputs made of them."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from time import process_time

import pytest
from fuzz_inputs import Target, spend
from fuzz_targets import TARGETS
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec import json

INPUTS, FEWEST_INPUTS = 200, 20
MOST_CUT = 20
LARGEST_RECORD, FACTOR = 262_144, 200


@pytest.fixture(autouse=True)
def _without_logs() -> Iterator[None]:
    logging.disable()
    yield
    logging.disable(logging.NOTSET)


@pytest.mark.parametrize("name", TARGETS)
def test_seeds_and_what_once_failed(name: str) -> None:
    target = TARGETS[name]
    for data in (*target.seeds, *target.kept.values()):
        target.check(data)  # what is compiled or imported for the first one costs once
        spend(target, data)


@pytest.mark.parametrize("name", TARGETS)
def test_inputs_made_of_them(name: str) -> None:
    target = TARGETS[name]

    @settings(max_examples=max(FEWEST_INPUTS, round(INPUTS * target.share)))
    @given(made(target))
    def check(data: bytes) -> None:
        spend(target, data)

    check()


def made(target: Target) -> st.SearchStrategy[bytes]:
    """Seeds with a few edits, and any short bytes."""
    edits = st.lists(st.integers(0, 1 << 48), min_size=1, max_size=4)
    puts = (b"", *map(bytes, zip(range(256))), *target.words)
    return st.builds(edited, st.sampled_from(list(target.seeds)), edits, st.just(puts)) | st.binary(max_size=60)


def edited(data: bytes, edits: Sequence[int], puts: Sequence[bytes]) -> bytes:
    """The bytes after these edits: each number says where, how many bytes are cut, and what is put there."""
    for number in edits:
        number, put = divmod(number, len(puts))
        number, cut = divmod(number, MOST_CUT)
        start = number % (len(data) + 1)
        data = data[:start] + puts[put] + data[start + cut :]
    return data


@pytest.mark.attack
@pytest.mark.parametrize("name", ["ingest", "headers", "journal", "outputs"])
def test_inputs_that_grow_to_the_limit_cost_what_fixed_work_of_their_size_does(name: str) -> None:
    target = TARGETS[name]
    most = FACTOR * fixed_work_seconds()
    for seed in target.seeds[:2]:
        spend(target, seed)  # what is made once, by the first record of a process, is no work on this one
        for unit in (b'"', b'\\"', b"\\", b"[", b'{"a":', b" ", b"9", "\u0301".encode(), "\u0f73".encode()):
            place = len(seed) * 3 // 4
            grown = seed[:place] + unit * (LARGEST_RECORD // len(unit)) + seed[place:]
            assert min(spend(target, grown).seconds for _ in range(2)) < most, unit


def fixed_work_seconds() -> float:
    """CPU time of decoding numbers, of a record's largest size."""
    value = b"[" + b"1," * (LARGEST_RECORD // 2 - 1) + b"1]"
    began = process_time()
    json.decode(value)
    return process_time() - began

"""Garbage costs little in the journal, and every record of it is accounted for."""

from __future__ import annotations

import hashlib
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from onward.schemas.events import Application, DeadLetter
from onward.streams.ingest.ingest import Ingest
from onward.streams.ingest.refusals import OVER_QUOTA
from onward.streams.ingest.validation import RecordLimits
from onward.streams.metrics import Metrics
from onward.streams.records import TopicPartition
from onward.testing.pipeline import START_MS, PipelineRun, Sender, no_clock
from onward.testing.program import build_program

POOR = {"region": "north", "income": 10.0, "debts": 4}
TOO_RICH = {"region": "north", "income": 1e9, "debts": 4}


def junk(sender, value=b"x", id="junk"):
    return sender.record("applications", Application("loan", "a", POOR), time_ms=START_MS, id=id, raw=value)


def good(sender, name, features=POOR):
    return sender.record("applications", Application("loan", name, features), time_ms=START_MS, id=name)


async def fold(run, records, ends, quota=100):
    """Ingest the records in chunks that end at ``ends``; fold the journal; return the letters."""
    limits, broker = RecordLimits(letters_a_second=quota), run.broker
    ingest = Ingest(run.topics, run.programs, broker, Metrics(), no_clock, limits)
    await ingest.assigned([TopicPartition("applications", 0)])
    broker.inputs |= {(one.topic, one.partition, one.offset): one for one in records}
    for start, end in ends:
        if records[start:end]:
            await ingest.handle(records[start:end])
    await run.fold(broker.logs["journal", 0])
    return run.events("dead-letters", DeadLetter)


def offsets(letters):
    """The offsets that letters are about, each as often as it is."""
    return [offset for one in letters for offset in range(one.offset, (one.last_offset or one.offset) + 1)]


@pytest.fixture
def run(tmp_path):
    return PipelineRun({"loan": build_program()}, tmp_path)


@pytest.mark.attack
async def test_a_flood_of_junk_is_a_few_letters_and_its_values_are_not_journaled(run):
    sender = Sender()
    flood = [junk(sender, b"secret-%d" % number) for number in range(5000)]
    every = [good(sender, "before"), *flood, good(sender, "after")]
    records = [one._replace(offset=offset) for offset, one in enumerate(every)]
    letters = await fold(run, records, [(start, start + 500) for start in range(0, 5002, 500)])
    journal = b"".join(record.value for record in run.broker.logs["journal", 0])
    assert sum(one.count or 1 for one in letters) == 5000
    assert (letters[0].offset, letters[-2].last_offset) == (1, 4999)
    assert letters[0].value == b"secret-0"
    first = b"".join(one.value for one in records[1 : 1 + letters[0].count])
    assert (letters[0].sha256, letters[0].size) == (hashlib.sha256(first).hexdigest(), len(first))
    assert b"secret" not in journal
    assert len(journal) < 20_000


async def test_the_values_of_expired_records_are_left_out_and_the_letter_says_so(run):
    record = junk(Sender(), b"secret")

    async def gone(wanted):
        return {}

    run.broker.records_at = gone
    [letter] = await fold(run, [record], [(0, 1)])
    assert letter.value is None
    assert letter.detail.endswith("(the record is no longer in applications)")
    assert letter.sha256 == hashlib.sha256(b"secret").hexdigest()


async def test_a_record_whose_event_is_known_has_a_letter_of_its_own(run):
    sender = Sender()
    records = [good(sender, f"rich-{number}", TOO_RICH) for number in range(3)]
    letters = await fold(run, records, [(0, 3)])
    assert [(one.offset, one.reason) for one in letters] == [
        (0, "out_of_bounds"),
        (1, "out_of_bounds"),
        (2, "out_of_bounds"),
    ]


@pytest.mark.attack
async def test_beyond_the_quota_records_share_letters_whatever_the_reason(run):
    sender = Sender()
    records = [
        one
        for number in range(200)
        for one in (
            good(sender, f"rich-{number}", TOO_RICH),
            good(sender, f"east-{number}", {**POOR, "region": "east"}),
        )
    ]
    letters = await fold(run, records, [(0, 400)], quota=10)
    assert len(letters) == 11
    assert (letters[-1].reason, letters[-1].count, letters[-1].offset) == (OVER_QUOTA, 390, 10)


@given(
    st.lists(st.sampled_from("gjwr"), min_size=1, max_size=12),
    st.lists(st.integers(0, 12), max_size=3),
    st.integers(0, 12),
    st.lists(st.integers(0, 12), max_size=3),
)
async def test_after_a_crash_each_unusable_record_is_in_one_letter(tmp_path_factory, kinds, cuts, crash, later):
    """The records before the crash are read again behind it, in other chunks."""
    run, sender = PipelineRun({"loan": build_program()}, tmp_path_factory.mktemp("run")), Sender()
    make = {
        "g": lambda n: good(sender, f"good-{n}"),
        "j": lambda n: junk(sender, b"j%d" % n),
        "w": lambda n: junk(sender, b"[]"),
        "r": lambda n: good(sender, f"rich-{n}", TOO_RICH),
    }
    records = [make[kind](number) for number, kind in enumerate(kinds)]
    crash = min(crash, len(records))
    before = sorted({0, crash, *(cut for cut in cuts if cut < crash)})
    begin = min([*(cut for cut in cuts if cut < crash), crash])
    after = sorted({begin, len(records), *(cut for cut in later if begin < cut < len(records))})
    ends = [*pairwise(before), *pairwise(after)]
    letters = await fold(run, records, ends, quota=3)
    unusable = [number for number, kind in enumerate(kinds) if kind != "g"]
    assert sorted(offsets(letters)) == unusable
    assert sum(one.count or 1 for one in letters) == len(unusable)

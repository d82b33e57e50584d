"""A recorded journal gives the outputs that were recorded with it, whatever portions it is folded in."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

from onward.streams.records import Record
from onward.testing.pipeline import PipelineRun
from onward.testing.program import build_program

HERE = Path(__file__).parent
ADDED_SINCE = {
    "recourse": {"applicant", "expires_at", "execution_source", "model_sha256"},
    "options": {"id", "promise", "learned_execution_probability"},
    "rewards": {"option"},
    "dead-letters": {"refused_as"},
}
"""Fields that outputs have today and had not when the journal was recorded, by topic or list."""
TOPICS_SINCE = {"model-decisions"}
"""Topics that there were not then. Their outputs count in the numbers of positions."""


def lines(name: str) -> list[Any]:
    with gzip.open(HERE / name, "rt", encoding="utf-8") as file:
        return [json.loads(line) for line in file]


def programs():
    """The programs that the journal was recorded with: one of each way of choosing, clock and division."""
    by_time = {"time": "PT30M", "lateness": "PT5M"}
    return {
        "loan": build_program("loan", candidates=24),
        "timed": build_program("timed", window=by_time, decisions="external", choice="posterior", candidates=24),
        "sharded": build_program(
            "sharded", window={"steps": 6}, decisions="external", shards=3, choice="gp_ucb", candidates=24
        ),
        "quick": build_program(
            "quick", window={"time": "PT20M", "lateness": "PT1M"}, shards=2, choice="bwo_ucb", candidates=24
        ),
    }


def comparable(topic: str, value: str) -> str:
    """An output without the fields added since and the spec's hash, its floats to digits that all machines agree on."""
    output = json.loads(value, parse_float=lambda digits: float(f"{float(digits):.9g}"))
    for name in ("spec", *ADDED_SINCE.get(topic, ())):
        output.pop(name, None)
    for option in output.get("options", ()):
        for name in ADDED_SINCE["options"]:
            option.pop(name, None)
    return json.dumps(output)


def offsets(headers: Iterable[list[str]]) -> list[list[str]]:
    """The headers with the journal offset of the position alone."""
    return [[name, content.split(".")[0] if name == "onward_position" else content] for name, content in headers]


@pytest.mark.parametrize("cuts", [[], [5, 50, 51, 100, 200], list(range(1, 2000, 3))], ids=["one", "few", "many"])
async def test_a_recorded_journal_gives_the_recorded_outputs(tmp_path, cuts):
    journal = [
        Record("journal", 0, offset, time_ms, None, line.encode(), ())
        for offset, time_ms, line in lines("recorded_journal.jsonl.gz")
    ]
    run = PipelineRun(programs(), tmp_path)
    run.broker.logs["journal", 0] = journal
    await run.fold(journal, [cut for cut in cuts if cut < len(journal)])
    got = [
        [topic, key and key.decode(), comparable(topic, value), time_ms, offsets([n, h.decode()] for n, h in headers)]
        for topic, outputs in run.outputs().items()
        if topic not in TOPICS_SINCE
        for key, value, time_ms, headers in outputs
    ]
    expected = [
        [topic, key, comparable(topic, value), time_ms, offsets(headers)]
        for topic, key, value, time_ms, headers in lines("recorded_outputs.jsonl.gz")
    ]
    assert got == expected

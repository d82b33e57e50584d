"""Which workers must carry work on in pieces, where nothing is left to read."""

from __future__ import annotations

import pytest

from onward.streams.ingest.ingest import Ingest
from onward.streams.metrics import Metrics
from onward.streams.topics import Topics
from onward.testing.memory_broker import MemoryBroker
from onward.testing.pipeline import no_clock
from onward.testing.program import build_program

ROUNDS = {"capacity": {"places": 1}, "policy": {"goal": "capacity", "options": 1}}


@pytest.mark.parametrize(
    ("program", "pieces"), [({}, False), ({"promise": {"kind": "lp", "radius": 0.1}}, True), (ROUNDS, True)]
)
def test_programs_with_rounds_or_promises_work_in_pieces(program, pieces):
    ingest = Ingest(Topics(), {"loan": build_program(**program)}, MemoryBroker(), Metrics(), no_clock)
    assert ingest.works_in_pieces is pieces

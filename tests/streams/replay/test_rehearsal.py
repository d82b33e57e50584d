"""After a rehearsal the first person waits for no compiling."""

from __future__ import annotations

import numpy as np
import pytest

from onward.streams.replay.rehearsal import rehearse
from onward.streams.replay.suggestions import suggest
from onward.testing.pipeline import START_MS
from onward.testing.program import build_program
from onward.tests.agents.test_bounds import all_compiled
from onward.tests.streams.engine.rounds.stories import limited

PERSON = {"region": "south", "income": 7.0, "debts": 5}


class Approving:
    """Gives everybody the same score."""

    def __init__(self, value=1.0):
        self.value = value

    def score(self, X):
        return np.full(len(X), self.value)


@pytest.fixture
def uncompiled(monkeypatch):
    """No function has been called yet."""
    for _, function in all_compiled():
        monkeypatch.setattr(function, "machine", None)


def signatures():
    """The types of arguments that each function is compiled for."""
    return {name: set(function.machine.signatures) for name, function in all_compiled() if function.machine is not None}


@pytest.mark.parametrize("decisions", ["model", "external"])
@pytest.mark.parametrize("policy", [{}, {"generator": "search"}, {"generator": "search", "choice": "protoar"}])
def test_nothing_is_left_to_compile_for_an_answer(uncompiled, policy, decisions):
    program = build_program(decisions=decisions, policy=policy)
    rehearse(program)
    rehearsed = signatures()
    assert rehearsed
    assert list(suggest(program, {"a": PERSON}, START_MS))
    assert signatures() == rehearsed


def test_a_program_of_limited_places_looks_for_options(uncompiled):
    rehearse(limited(generator="search"))
    assert signatures()


def test_the_answers_stay_what_they_are(uncompiled):
    program = build_program(policy={"generator": "search"})
    before = list(suggest(program, {"a": PERSON}, START_MS))
    rehearse(program)
    assert list(suggest(program, {"a": PERSON}, START_MS)) == before


def test_nothing_is_done_where_nobody_is_rejected(uncompiled):
    rehearse(build_program(policy={"generator": "search"}, model=Approving()))
    assert not signatures()


def test_nothing_is_done_where_nobody_has_a_score(uncompiled):
    rehearse(build_program(policy={"generator": "search"}, model=Approving(np.nan)))
    assert not signatures()

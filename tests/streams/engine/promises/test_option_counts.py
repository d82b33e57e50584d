"""Counting what a new model means for open options."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pytest

from onward.streams.engine.promises.option_counts import OptionCounts, ResultCounts
from onward.streams.ledger.open_options import program_ledgers
from onward.testing.pipeline import START_MS
from onward.tests.streams.engine.promises.stories import HOUR_MS, open_recourses, promising, score_of, story

INCOMES = (20.0, 30.0, 30.0, 40.0, 55.0)


def counted(tape, program, bias, by=(), path=0.0, linear=True):
    """The counts of the open options of a journal under a model with this bias."""
    new = cast(Any, SimpleNamespace(model=SimpleNamespace(score=score_of(bias, linear))))
    counts = OptionCounts(program, new, by, START_MS)
    [ledger] = program_ledgers([tape.fold().parent], "loan")
    for people in ledger.pages("loan"):
        counts.add(people, path)
    return counts


@pytest.fixture
def program():
    return promising()


@pytest.fixture
def tape(tmp_path, monkeypatch, program):
    own = story(tmp_path, monkeypatch, program)
    for number, income in enumerate(INCOMES):
        own.applies_with(f"p{number}", 0, income=income, region=("north", "south")[number % 2])
    return own


def test_within_the_certificate_no_option_is_scored(tape, program):
    # The model would reject everybody, so one that is asked is broken.
    assert counted(tape, program, -9.0, path=0.01).counts == ResultCounts(cleared=10)


def test_at_its_end_the_certificate_says_nothing_any_more(tape, program):
    """As the look reads them: a recourse whose limit the path has reached is read."""
    [limit] = {recourse.path_limit for recourse in open_recourses(tape.fold())}
    assert counted(tape, program, -9.0, path=limit).counts == ResultCounts(broken=10)
    assert counted(tape, program, -9.0, path=np.nextafter(limit, 0)).counts == ResultCounts(cleared=10)


@pytest.mark.parametrize(("late_ms", "expired"), [(0, 0), (1, 10)])
def test_an_option_counts_until_its_last_instant(tape, program, late_ms, expired):
    new = cast(Any, SimpleNamespace(model=SimpleNamespace(score=score_of(-9.0, linear=True))))
    counts = OptionCounts(program, new, (), START_MS + 10 * HOUR_MS + late_ms)
    counts.add(open_recourses(tape.fold()), 1e6)
    assert (counts.expired, counts.counts.broken) == (expired, 10 - expired)


def test_beyond_it_every_option_is_scored(tape, program):
    assert counted(tape, program, -1.0, path=1e6).counts == ResultCounts(accepted=10)
    assert counted(tape, program, -9.0, path=1e6).counts == ResultCounts(broken=10)


def test_a_score_that_is_not_linear_is_asked_too(tape, program):
    assert counted(tape, program, -9.0, path=2000.0, linear=False).counts == ResultCounts(broken=10)


def test_people_are_grouped_by_levels_and_by_quartiles(tape, program):
    groups = counted(tape, program, -9.0, by=("region", "income", "debts"), path=1e6).groups()
    assert {name: counts.open for name, counts in groups["region"].items()} == {"north": 6, "south": 4}
    assert {name: counts.broken for name, counts in groups["income"].items()} == {
        "to 30": 6,
        "over 30 to 40": 2,
        "over 40": 2,
    }
    assert {name: counts.open for name, counts in groups["debts"].items()} == {"to 4": 10}


def test_a_share_of_nothing_is_none():
    assert ResultCounts().share == 0.0
    assert ResultCounts(cleared=2, honoured=1, broken=1).share == 0.25

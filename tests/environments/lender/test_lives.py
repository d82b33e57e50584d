"""Whom a lender's model accepts, what is true of what it tells, and what becomes of people after that."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from onward.environments.lender import Lender, LenderSetting, OpenApplication, Report, taken_of, what_follows
from onward.schemas.events import Change, Option
from onward.schemas.spec import Feature

SETTING = LenderSetting(measures=2)
EQUATIONS = SETTING.equations()
FEATURES = [Feature(column.name, "integer", bounds=(0, 50_000)) for column in EQUATIONS.columns]


@pytest.fixture
def lender():
    """A model that accepts whoever owes less than 10,000 by the first measure."""
    return Lender(EQUATIONS, FEATURES[::-1], lambda rows: np.array([row["debt_3m"] < 10_000 for row in rows]))


def told(lender, **fields):
    person = lender.newcomers(1, np.random.default_rng(0))
    debt = int(person.columns[0, [feature.name for feature in lender.features].index("debt_6m")])
    changes = (Change("debt_6m", debt, debt - 3900),)
    return person, lender.stated_options(person, [Option("7", changes, 0.2, 0.8, 1.0, "2", **fields)])


def test_newcomers_are_all_rejected_or_all_accepted(lender):
    for accepted in (False, True):
        people = lender.newcomers(30, np.random.default_rng(1), accepted=accepted)
        assert lender.accepts(people.columns).tolist() == [accepted] * 30
    with pytest.raises(ValueError, match="the model accepts 0 only"):
        Lender(EQUATIONS, FEATURES, lambda rows: np.zeros(len(rows), bool)).newcomers(
            1, np.random.default_rng(1), accepted=True
        )


def test_what_is_stated_stands_beside_what_is_true_of_all_that_follows(lender):
    person, [option] = told(lender, improvement_probability=0.9, improvement_interval=(0.5, 0.95))
    assert (option.stated_execution, option.stated_help, option.interval) == (0.8, 0.9, (0.5, 0.95))
    things = person.things[0].copy()
    names = [thing.name for thing in EQUATIONS.things]
    things[names.index("debt")] -= 1.0
    things[names.index("arrears")] -= 0.3
    odds = EQUATIONS.level + sum(
        thing.weight * 2.0 * np.tanh(value / 2.0) for thing, value in zip(EQUATIONS.things, things, strict=True)
    )
    assert option.help == pytest.approx(1.0 / (1.0 + np.exp(-odds)))
    assert option.execution == pytest.approx(np.exp(-0.08 * person.pace[0, names.index("debt")]))
    debt = person.columns[0, [feature.name for feature in lender.features].index("debt_3m")]
    assert option.holds == (debt - 3900 < 10_000)


def test_nothing_is_stated_of_help_where_the_program_says_nothing(lender):
    _, [option] = told(lender, learned_execution_probability=0.3)
    assert (option.stated_execution, option.stated_help, option.interval) == (0.3, None, None)


def test_people_take_the_option_that_is_easiest_for_them(lender):
    _, [option] = told(lender)
    easy = option._replace(execution=0.99, help=0.0)
    assert taken_of([option, easy]) is easy
    assert taken_of([]) is None


def test_who_carries_an_option_out_comes_back_with_all_that_follows_and_is_reported_as_the_setting_says(lender):
    person, [option] = told(lender)
    sure = option._replace(execution=1.0, help=0.5)

    def reported(setting: LenderSetting) -> list[tuple[float, Report]]:
        heard = [
            one
            for seed in range(200)
            for one in what_follows(lender, setting, OpenApplication(4, 1, person), sure, np.random.default_rng(seed))
        ]
        back = [(days, event) for days, event in heard if isinstance(event, OpenApplication)]
        assert {(event.id, event.previous) for _, event in back} == {("4-2", "4-1")}
        assert min(days for days, _ in back) >= 15
        assert max(days for days, _ in back) <= 60
        moved = (back[0][1].person.columns - person.columns)[0]
        assert [moved[place] for place, one in enumerate(lender.features) if one.name.startswith("debt")] == [-3900] * 2
        return [(days, event) for days, event in heard if isinstance(event, Report)]

    late = replace(SETTING, report_days=(150, 420))
    plain, late, silent, unnamed = map(
        reported, (SETTING, late, replace(SETTING, reporting=0.1), replace(SETTING, names_option=False))
    )
    assert len(plain) == len(late) == len(unnamed) == 200
    assert 8 < len(silent) < 40
    assert max(days for days, _ in plain) < 90 < min(days for days, _ in late)
    assert {(event.application, event.option) for _, event in plain} == {("4-1", "2")}
    assert {event.option for _, event in unnamed} == {None}
    assert 60 < sum(event.helped for _, event in plain) < 140


def test_who_does_not_act_is_never_heard_of(lender):
    person, [option] = told(lender)
    never = option._replace(execution=0.0)
    assert not list(what_follows(lender, SETTING, OpenApplication(0, 0, person), never, np.random.default_rng(0)))

"""What follows from changes in the world of a lender, and what its file holds."""

from __future__ import annotations

import csv

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from onward.environments.lender import LABEL, LenderPeople, LenderSetting, history, write_history
from onward.environments.lender.settings import SEEN, THINGS

NAMES = [thing.name for thing in THINGS]
PLAIN, APPROVED, MEASURES = LenderSetting(), LenderSetting(cause=SEEN, approved_only=True), LenderSetting(measures=5)


def person_of(setting: LenderSetting, seed: int = 0) -> LenderPeople:
    return setting.equations().draw(1, np.random.default_rng(seed))


def changed(setting: LenderSetting, person: LenderPeople, **by: float):
    """What comes of a person whose columns change by so much."""
    equations, target = setting.equations(), person.columns.copy()
    for name, amount in by.items():
        target[:, [column.name for column in equations.columns].index(name)] += amount
    return equations.carried(person, target)


def residuals(setting: LenderSetting, things: np.ndarray) -> np.ndarray:
    follows = np.array([[thing.parents.get(name, 0.0) for name in NAMES] for thing in setting.equations().things])
    return things - things @ follows.T


def check_what_follows(setting: LenderSetting, seed: int, amount: int) -> None:
    """What follows from a change moves with it, and every other residual stays."""
    person = person_of(setting, seed)
    carried = changed(setting, person, income=amount, arrears=-0.1 * amount)
    moved = residuals(setting, carried.things) - residuals(setting, person.things)
    is_changed = np.isin(NAMES, ["income", "arrears"])
    assert np.allclose(moved[:, ~is_changed], 0.0)
    shift = (carried.things - person.things)[0]
    assert np.allclose(shift[is_changed], [amount / 800, -0.1 * amount / 160])
    assert shift[NAMES.index("savings")] == pytest.approx(0.3 * amount / 800)
    assert (shift[[NAMES.index("age"), NAMES.index("education"), NAMES.index("tenure")]] == 0.0).all()


@given(setting=st.sampled_from((PLAIN, APPROVED)), seed=st.integers(0, 99), amount=st.integers(1, 900))
def test_what_follows_from_a_change_moves_with_it_and_every_other_residual_stays(setting, seed, amount):
    check_what_follows(setting, seed, amount)


def test_who_changes_nothing_is_as_before_and_surely_does_it():
    setting = APPROVED
    person = person_of(setting)
    carried = changed(setting, person)
    assert (carried.things == person.things).all()
    assert (carried.columns == person.columns).all()
    assert carried.execution == 1.0
    assert carried.help == setting.equations().help(person.things, person.hidden)


def test_all_measures_of_a_thing_move_with_one_and_keep_their_own_errors():
    setting = MEASURES
    person, columns = person_of(setting), [column.name for column in setting.equations().columns]
    one, two = changed(setting, person, debt_3m=-3900), changed(setting, person, debt_3m=-3900, debt_bank=-1000)
    of_debt = [name.startswith("debt") for name in columns]
    assert sum(of_debt) == 5
    assert (one.columns - person.columns)[0, of_debt] == pytest.approx(-3900)
    assert (two.columns == one.columns).all()
    assert two.execution == one.execution


def test_labels_of_approved_people_alone_are_the_better_ones():
    everybody, approved = (
        history(setting, setting.equations(), np.random.default_rng(0))[1] for setting in (PLAIN, APPROVED)
    )
    assert len(everybody) == 4000
    assert not np.isnan(everybody).any()
    known = approved[~np.isnan(approved)]
    assert len(known) == 4000
    assert len(approved) > 5000
    assert known.mean() > everybody.mean() + 0.1


def test_the_file_has_every_column_of_everybody_and_no_label_where_nobody_knows_it(tmp_path):
    setting = LenderSetting(measures=3, cause=SEEN, approved_only=True, rows=20)
    equations = setting.equations()
    people, labels = history(setting, equations, np.random.default_rng(0))
    write_history(tmp_path / "loans.csv", equations, people, labels)
    with (tmp_path / "loans.csv").open() as stream:
        rows = list(csv.DictReader(stream))
    assert [row.pop(LABEL) for row in rows] == ["" if np.isnan(one) else str(int(one)) for one in labels]
    assert [list(map(float, row.values())) for row in rows] == people.columns.tolist()
    assert list(rows[0])[4:7] == ["income_3m", "income_6m", "income_12m"]

"""The variations of a lender's world that are studied."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from onward.benchmarks.real.settings import SETTINGS
from onward.tests.environments.lender.test_equations import NAMES, changed, check_what_follows, person_of

PLAIN, PROXY, BORROWED = SETTINGS["plain"], SETTINGS["proxy"], SETTINGS["side-effects"]
STUDIED = (SETTINGS["confounded"], PROXY, BORROWED)


@given(setting=st.sampled_from(STUDIED), seed=st.integers(0, 99), amount=st.integers(1, 900))
def test_what_follows_from_a_change_moves_with_it_and_every_other_residual_stays(setting, seed, amount):
    check_what_follows(setting, seed, amount)


def test_borrowed_savings_raise_debts_and_help_less():
    plain, borrowed = PLAIN, BORROWED
    person = person_of(plain)
    saved, lent = changed(plain, person, savings=4200), changed(borrowed, person, savings=4200)
    debt = NAMES.index("debt")
    assert saved.columns[0, debt] == person.columns[0, debt]
    assert lent.columns[0, debt] == pytest.approx(person.columns[0, debt] + 0.9 * 3900)
    assert lent.help < saved.help


def test_a_proxy_moves_and_does_not_help():
    setting = PROXY
    person = person_of(setting)
    assert changed(setting, person, direct_debits=15).help == changed(setting, person).help
    people = setting.equations().draw(2000, np.random.default_rng(1))
    debits = people.things[:, NAMES.index("direct_debits")]
    assert np.corrcoef(debits, people.hidden)[0, 1] > 0.8

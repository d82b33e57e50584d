"""No choice picks an infeasible option: whole programs are drawn, and every pick is checked against the spec."""

from __future__ import annotations

from random import Random

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from onward.agents.choices import registry
from onward.tests.support.choice_artefacts import ARTEFACTS
from onward.tests.support.random_programs import can_become, draw, picks

PEOPLE = 20


@pytest.mark.parametrize("name", registry)
@example(seed=135, instances=2)
@settings(max_examples=10, deadline=None)
@given(seed=st.integers(0, 2**32), instances=st.integers(0, 6) | st.integers(40, 150))
def test_every_pick_is_feasible_by_the_spec(name: str, seed: int, instances: int) -> None:
    random = Random(seed)
    drawn = draw(random, instances, PEOPLE)
    for person, pick in zip(drawn.people, picks(name, drawn, random, ARTEFACTS), strict=True):
        possible = {k for k, row in enumerate(drawn.instances) if can_become(drawn.spec, person, row)}
        assert (pick.arm in possible) if pick else not possible

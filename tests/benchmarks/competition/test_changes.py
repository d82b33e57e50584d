"""A competition that changes, the equality of its goals, and the paper's baseline in it."""

from __future__ import annotations

import numpy as np
import pytest

from onward.agents.goals import LastThreshold
from onward.benchmarks.competition.changes import ChangedSettings
from onward.benchmarks.competition.equality import gini
from onward.benchmarks.competition.plans import PLANNERS
from onward.benchmarks.competition.play import Play
from onward.environments.competition import Competition, CompetitionPeople, CompetitionRules, draw_world, load_worlds
from onward.tests.support.reference_worlds import REFERENCE

FROZEN = REFERENCE.parent / "durable" / "worlds.npz"


def settings_of(**changes) -> ChangedSettings:
    return ChangedSettings(**{"first": 6, "newcomers": 4, "places": 3, "horizon": 3, **changes})


@pytest.fixture(scope="module")
def world() -> CompetitionPeople:
    return draw_world(3, rows=2000)


@pytest.mark.parametrize(("changes", "places"), [({}, [3] * 6), ({"later_places": (1, 0)}, [3, 3, 1, 0, 1, 0])])
def test_places_change_from_a_round_on_and_a_round_may_have_none(world, changes, places):
    settings = settings_of(shift_round=2, shift_deviations=0.0, **changes)
    competition, given = Competition(world, settings, episodes=2, seed=0), []
    for t in range(6):
        applications = competition.arrivals(t)
        accepted = competition.best(t, applications)
        given.append(accepted.sum() / 2)
        for one in competition.closed(t, applications, accepted):
            assert one.places == places[t]
            assert 0 < one.threshold < 1 if one.places else one.threshold == 1
        competition.close(t, accepted, np.full(len(accepted), 0.9), applications.people)
    assert given == places


def test_newcomers_jump_and_drift_from_a_round_on():
    settings = ChangedSettings(shift_round=3, shift_deviations=1.0, drift_deviations=0.02)
    assert [settings.improvement_of(t) for t in (0, 2, 3, 4, 52)] == pytest.approx([0.0, 0.0, 1.02, 1.04, 2.0])
    assert ChangedSettings(shift_deviations=1.0).improvement_of(99) == 0.0


def test_newcomers_are_better_after_the_shift(world):
    settings = settings_of(newcomers=500, shift_round=1)
    plain, shifted = (Competition(world, s, episodes=1, seed=0) for s in (settings_of(newcomers=500), settings))
    for competition in (plain, shifted):
        applications = competition.arrivals(0)
        competition.close(0, np.ones(6, bool), applications.score, applications.people)
    before, after = (competition.arrivals(1).people for competition in (plain, shifted))
    assert (after >= before).all()
    assert after.mean() - before.mean() == pytest.approx(
        (0.35 * world.deviation / (world.high - world.low)).mean(), rel=0.1
    )


def test_the_gini_index_is_0_for_equals_and_known_for_two():
    assert gini(np.full(7, 0.3)) == 0.0
    assert gini(np.array([1.0, 3.0])) == pytest.approx(0.25)
    assert gini(np.empty(0)) == 0.0


@pytest.mark.parametrize(("beta", "reliability", "feasibility"), [(0.05, 0.4286, 0.8465), (0.01, 0.5012, 0.6006)])
def test_the_baseline_is_that_of_the_calibration(beta, reliability, feasibility):
    """Last threshold and L2 projection in the first frozen world, T = 1. Of 40 episodes the standard errors are about
    0.01 and 0.005; the known values have the same."""
    if not FROZEN.is_file():
        pytest.skip(f"no frozen worlds at {FROZEN}: set ONWARD_SHARED")
    play = Play(load_worlds(FROZEN)[0], CompetitionRules(beta=beta), PLANNERS["L2"], episodes=40, seed=0)
    played = play.run(lambda: LastThreshold(0.95, 1))
    assert np.nanmean(played.reliability) == pytest.approx(reliability, abs=0.04)
    assert np.nanmean(played.feasibility) == pytest.approx(feasibility, abs=0.02)

"""What experiments change in a world: noise, costs, delays, classifiers and model updates."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

from onward.agents.costs import L1, MaxPercentileShift
from onward.benchmarks.improvement.observed_execution import ObservedExecution, draw_noise
from onward.benchmarks.improvement.stored_worlds import from_arrays
from onward.benchmarks.improvement.studied_world import CLASSIFIERS, StudiedWorld
from onward.benchmarks.improvement.updates import ModelUpdates
from onward.environments.improvement import ImprovementWorld, train
from onward.schemas.table import Table

PEOPLE = 300


def build(loans: Table, specs, classifier="rf", model=None, **changes) -> StudiedWorld:
    model = model or train(loans, seed=5, build=CLASSIFIERS[classifier])
    return StudiedWorld.drawn(loans, specs("loan_arlim"), model, **{"seed": 5, "people": PEOPLE, **changes})


def truth(world: ImprovementWorld) -> list[tuple[object, ...]]:
    """What comes of everything, but when."""
    pairs = [(t, t % len(world.instances)) for t in range(world.people)]
    return [
        (world.application(t), world.cost(t, k), world.expected_reward(t, k), world.improves(t, k)) for t, k in pairs
    ]


@pytest.mark.parametrize("seed", [0, 3])
@pytest.mark.parametrize("name", ["Credit", "Diabetes", "COMPAS"])
def test_the_noise_is_that_of_the_stored_worlds(name, seed, stored, specs):
    check = stored.fact(name, seed)["noise_check"]
    world = from_arrays(stored.arrays(name, seed), specs(name))
    drawn = draw_noise(seed, world.people, len(world.instances))
    assert drawn[0, :3].tolist() == pytest.approx(check["first_three_of_row_0"], rel=1e-14)
    assert drawn.sum() == pytest.approx(check["sum"], rel=1e-12)
    observation = ObservedExecution(world, noise=0.25, seed=seed)
    rounds = range(world.people)
    assert sum(observation.noisy(t).sum() for t in rounds) == pytest.approx(check["E_noisy_xi_0p25_sum"], rel=1e-12)
    assert sum(observation.exact(t).sum() for t in rounds) == pytest.approx(check["E_clean_sum"], rel=1e-12)


def test_noise_is_in_the_observation_and_nowhere_else(loans, specs):
    world = build(loans, specs)
    before = truth(world)
    quiet, noisy = ObservedExecution(world, noise=0.0, seed=5), ObservedExecution(world, noise=0.1, seed=5)
    observed = np.array([noisy.noisy(t) for t in range(world.people)])
    clean = np.array([quiet.noisy(t) for t in range(world.people)])
    assert (clean == [noisy.exact(t) for t in range(world.people)]).all()
    inside = (observed > 0) & (observed < 1)
    assert (observed[inside] - clean[inside]).std() == pytest.approx(0.1, rel=0.2)
    assert 0 <= observed.min() < observed.max() <= 1
    assert truth(world) == before


def test_the_true_cost_can_differ_from_the_observed_one(loans, specs):
    plain, mixed = build(loans, specs), build(loans, specs, by_percentile=True)
    assert mixed.training is not None
    people, scale = np.array([mixed.person(t) for t in range(PEOPLE)]), 1 / len(mixed.columns)
    observed, true = L1()(mixed.points, people), MaxPercentileShift(mixed.training[0])(mixed.points, people)
    for t, k in ((0, 0), (7, 90), (299, 199)):
        assert mixed.execution(t)[k] == plain.execution(t)[k] == pytest.approx(np.exp(-scale * observed[t, k]))
        assert mixed.cost(t, k) == pytest.approx(true[t, k])
        assert mixed.expected_reward(t, k) == pytest.approx(mixed.theta_noisy[k] * np.exp(-scale * true[t, k]))
    assert list(mixed.instances) == list(plain.instances)


def test_a_delay_by_person_slows_these_people_and_changes_nothing_else(loans, specs):
    def young(row) -> bool:
        return row["age_band"] == "under_30"

    same, own = build(loans, specs), build(loans, specs, delay=lambda row: 0.2 if young(row) else 0.05)
    assert truth(own) == truth(same)
    slow = np.array([not young(own.application(t)[1]) for t in range(PEOPLE)])
    delays, usual = (np.array([world.delay(t) for t in range(PEOPLE)]) for world in (own, same))
    assert 0.1 < slow.mean() < 0.9
    assert (delays[~slow] == usual[~slow]).all()
    assert (delays[slow] >= usual[slow]).all()
    assert delays[slow].mean() == pytest.approx(20, rel=0.25)


def test_a_network_decides_as_a_forest_does(loans, specs):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        world = build(loans, specs, classifier="mlp")
    assert (world.estimator.predict_proba(world.points)[:, 1] > 0.5).all()
    assert list(world.instances) != list(build(loans, specs).instances)


def test_worlds_that_share_a_model_are_those_built_alone(loans, specs):
    model = train(loans, seed=5)
    for instances in (50, 200):
        alone, shared = (build(loans, specs, instances=instances, model=one) for one in (None, model))
        assert (truth(shared), list(shared.instances)) == (truth(alone), list(alone.instances))


def updated(world: ImprovementWorld, step: int = 1) -> tuple[list[bytes], ModelUpdates]:
    """The candidates that are valid in every round, when the same candidates are suggested."""
    updates, valid = ModelUpdates(world, every=20, seed=5), []
    for t in range(60):
        valid.append(updates.valid.tobytes())
        updates.suggested(t, (step * t) % len(world.instances) if t % 7 else None)
    return valid, updates


def test_a_model_is_fitted_anew_every_so_many_rounds_and_the_same_suggestions_give_the_same_models(loans, specs):
    world = build(loans, specs, people=60)
    valid, updates = updated(world)
    assert updated(build(loans, specs, people=60))[0] == valid
    assert len(set(valid[:20])) == 1
    assert all(np.frombuffer(valid[0], dtype=bool))
    assert valid[19] != valid[20] == valid[39] != valid[40]
    assert updates.models == 3  # after the last round nobody is left to meet another


def test_a_model_learns_of_failures_too_when_their_delay_has_passed(loans, specs):
    world = build(loans, specs, people=60)
    assert world.training is not None
    _, updates = updated(world)
    known = [t for t in range(60) if t % 7 and t + world.delay(t) - 1 < 60]
    added = updates.observations
    assert len(added) == len(known)
    assert sorted(added) == sorted((t % len(world.instances), int(world.improves(t, t))) for t in known)
    assert {label for _, label in added} == {0, 1}

import numpy as np
import pytest

from onward.agents.candidates import RecourseInstances
from onward.agents.costs import L1
from onward.agents.objective import Objective
from onward.environments.improvement import ImprovementWorld
from onward.schemas.encoding import FeatureCodec
from onward.schemas.table import Table
from onward.streams.programs.space import space_of


@pytest.fixture(scope="module")
def codec(specs) -> FeatureCodec:
    return FeatureCodec(specs("loan_arlim"))


def build(loans: Table, specs, **changes) -> ImprovementWorld:
    return ImprovementWorld.from_table(loans, specs("loan_arlim"), **{"seed": 5, "people": 300, **changes})


def everything(world: ImprovementWorld) -> object:
    answers = [world.outcome(t, t % len(world.instances)) for t in range(world.people)]
    people = [world.application(t) for t in range(world.people)]
    return world.instances, world.theta.tobytes(), world.theta_noisy.tobytes(), people, answers


def scores(world: ImprovementWorld, codec: FeatureCodec, rows) -> np.ndarray:
    return world.estimator.predict_proba(codec.encode_many(rows))[:, 1]


def test_the_same_seed_gives_the_same_world_and_another_seed_another(loans, specs):
    assert everything(build(loans, specs)) == everything(build(loans, specs))
    assert everything(build(loans, specs)) != everything(build(loans, specs, seed=6))


def test_the_share_of_approved_people_leaves_the_rejected_as_they_are(loans, specs):
    plain, mixed = build(loans, specs), build(loans, specs, approved_share=0.4)
    assert list(plain.instances) == list(mixed.instances)
    arrivals = [t for t in range(mixed.people) if mixed.is_rejected(t)]
    assert 150 < len(arrivals) == mixed.rejected < 210
    assert [mixed.application(t)[1] for t in arrivals] == [plain.application(t)[1] for t in range(len(arrivals))]


def test_the_model_accepts_all_instances_and_decides_people_as_planned(world, codec):
    assert (scores(world, codec, world.instances) > 0.5).all()
    people = [world.application(t)[1] for t in range(2000)]
    assert ((scores(world, codec, people) <= 0.5) == [world.is_rejected(t) for t in range(2000)]).all()


def test_instances_and_rejected_people_come_from_different_parts_of_the_data(loans, specs):
    world = build(loans, specs)
    labels = {id(row): label for row, label in zip(loans.rows, loans.labels, strict=True)}
    assert [labels[id(row)] for row in world.instances] == world.theta.tolist()
    assert {labels[id(world.application(t)[1])] for t in range(world.people)} == {0}
    assert not {id(row) for row in world.instances} & {id(world.application(t)[1]) for t in range(world.people)}


def test_at_most_the_wanted_number_of_instances_is_kept(loans, specs):
    assert len(build(loans, specs).instances) == 200
    assert len(build(loans, specs, instances=7).instances) == 7


def test_what_the_world_calls_feasible_is_what_the_product_calls_feasible(world, codec, specs):
    product = RecourseInstances.build(space_of(codec), world.points, Objective(L1()))
    arrivals = [t for t in range(300) if world.is_rejected(t)]
    proposals = product.propose(codec.encode_many([world.application(t)[1] for t in arrivals]))
    expected = np.zeros((len(arrivals), len(world.instances)), dtype=bool)
    expected[proposals.people, proposals.arm] = True
    found = [[world.is_feasible(t, k) for k in range(len(world.instances))] for t in arrivals]
    assert (expected == found).all()
    assert 0 < expected.mean() < 1


def test_the_oracle_is_the_best_feasible_expected_reward(world):
    for t in range(50):
        rewards = [world.expected_reward(t, k) for k in range(len(world.instances)) if world.is_feasible(t, k)]
        assert world.oracle(t) == max(rewards, default=0.0)


def test_the_expected_reward_falls_with_the_cost_by_one_over_the_columns(world, codec):
    x, z = codec.encode_many([world.application(4)[1], world.instances[9]])
    assert world.cost(4, 9) == pytest.approx(np.abs(x - z).sum())
    chance = world.theta_noisy[9] * np.exp(-np.abs(x - z).sum() / codec.dimension)
    assert world.expected_reward(4, 9) == pytest.approx(chance)


def test_rewards_come_as_often_as_expected_and_delays_are_geometric(world):
    """20,000 fixed draws; for other draws a right world would fail once in a million times (4.9 standard errors)."""
    arrivals = [t for t in range(world.people) if world.is_rejected(t)]
    pairs = [(t, t % len(world.instances)) for t in arrivals]
    chance = np.array([world.expected_reward(t, k) for t, k in pairs])
    outcomes = [world.outcome(t, k) for t, k in pairs]
    rewarded = sum(outcome is not None for outcome in outcomes)
    assert abs(rewarded - chance.sum()) < 4.9 * np.sqrt((chance * (1 - chance)).sum())

    place = {t: number for number, t in enumerate(arrivals)}
    delays = [
        place[outcome.due] - place[t] + 1
        for t, outcome in zip(arrivals, outcomes, strict=True)
        if outcome is not None and outcome.due in place
    ]
    assert min(delays) == 1
    assert abs(np.mean(delays) - 5) < 4.9 * np.sqrt(20 / len(delays))
    assert max(delays) > 10, "late outcomes are published too"


def test_an_outcome_names_its_application_and_approved_people_have_none(world):
    for t in range(200):
        outcome = world.outcome(t, 0)
        if outcome is not None:
            assert world.is_rejected(t)
            assert outcome.application == world.application(t)[0]
            assert t <= outcome.due
            assert outcome.application == world.application(t)[0]


def test_a_due_time_after_the_last_application_counts_on(loans, specs):
    world = build(loans, specs)
    dues = [outcome.due for t in range(world.people) if (outcome := world.outcome(t, 0))]
    assert max(dues) > world.people


def test_the_spec_of_a_program_serves_this_world(world, specs):
    spec = world.spec("loan-linucb", "linucb", {"regularisation": 30.0}, window_steps=7)
    assert spec.program == "loan-linucb"
    assert (spec.policy.choice, spec.policy.parameters, spec.policy.window.steps) == (
        "linucb",
        {"regularisation": 30.0},
        7,
    )
    assert spec.candidates == len(world.instances)
    assert spec.features == specs("loan_arlim").features


def test_a_world_without_anybody_to_reject_is_refused(loans, specs):
    sound = Table(loans.rows, (loans.X[:, 0] >= 0).astype(np.int64), loans.X)
    sound.labels[:4] = 0
    with pytest.raises(ValueError, match="predicted negative"):
        ImprovementWorld.from_table(sound, specs("loan_arlim"), seed=0, people=10)

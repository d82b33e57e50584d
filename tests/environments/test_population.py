import numpy as np

from onward.benchmarks.improvement import ARLIM_SPEC
from onward.environments.improvement import ImprovementWorld
from onward.environments.population import SPEC, Population
from onward.environments.rounds import Scoreboard
from onward.schemas.encoding import FeatureCodec
from onward.schemas.specfile import load_spec

LOAN = load_spec(SPEC).spec


def test_everybody_fits_the_spec(loans):
    codec = FeatureCodec(LOAN)
    assert not any(map(codec.check, loans.rows))
    assert not any(map(codec.violated_constraint, loans.rows))
    assert (codec.encode_many(loans.rows) == loans.X).all()


def test_values_stand_on_the_fine_steps(loans):
    for feature in load_spec(ARLIM_SPEC).spec.features:
        if feature.step is not None:
            values = np.array([row[feature.name] for row in loans.rows]) / feature.step
            assert np.allclose(values, np.round(values)), feature.name


def test_the_same_seed_gives_the_same_people():
    first, again, other = (Population(seed=seed).table(LOAN, 50) for seed in (1, 1, 2))
    assert first.rows == again.rows
    assert first.labels.tolist() == again.labels.tolist()
    assert first.rows != other.rows


def test_who_has_more_left_each_month_repays_more_often(loans):
    income, debts = (
        np.array([row[name] for row in loans.rows]) for name in ("monthly_income", "monthly_debt_payments")
    )
    left = income - debts
    rich, poor = left > np.quantile(left, 0.75), left < np.quantile(left, 0.25)
    assert loans.labels[rich].mean() > loans.labels[poor].mean() + 0.2


def test_the_easiest_suggestion_is_often_a_mistake_so_that_there_is_something_to_learn():
    """Taking the cheapest instance improves fewer people than an instance drawn blindly."""
    spec = load_spec(ARLIM_SPEC).spec
    world = ImprovementWorld.from_table(Population(seed=0).table(spec), spec, seed=0, people=500)
    board = Scoreboard(world)
    for t in range(world.people):
        feasible = [k for k in range(len(world.instances)) if world.is_feasible(t, k)]
        board.record(t, min(feasible, key=lambda k: world.cost(t, k), default=None))
    assert board.now.improvement < world.theta.mean() - 0.05
    assert board.now.oracle_mer - board.now.mer > 0.15

"""The worlds of the ARLIM paper: from their stored arrays, and built anew from the data."""

import numpy as np
import pytest

from onward.benchmarks.improvement.stored_worlds import from_arrays
from onward.environments.improvement import ImprovementWorld
from onward.schemas.encoding import FeatureCodec
from onward.schemas.table import read_table

NAMES = ("Credit", "Diabetes", "COMPAS")


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("name", NAMES)
def test_stored_worlds_come_back_bit_for_bit_in_raw_values(name, seed, stored, specs):
    arrays, fact = stored.arrays(name, seed), stored.fact(name, seed)
    world, codec = from_arrays(arrays, specs(name)), FeatureCodec(specs(name))
    people = [world.application(t)[1] for t in range(world.people)]
    assert (codec.encode_many(people) == arrays["X"]).all()
    assert (codec.encode_many(world.instances) == arrays["CF"]).all()
    assert not any(map(codec.check, [*people, *world.instances]))
    oracle = [world.oracle(t) for t in range(world.people)]
    assert np.mean(oracle) == pytest.approx(fact["oracle_MER"], abs=1e-12)
    assert oracle.count(0.0) == fact["infeasible_rounds"]
    assert not world.estimator.predict(arrays["X"]).any()
    assert world.estimator.predict(arrays["CF"]).all()


@pytest.mark.parametrize(("name", "seed"), [("Credit", 0), ("Diabetes", 1), ("Diabetes", 4), ("COMPAS", 2)])
def test_a_world_built_from_the_data_is_the_stored_one(name, seed, stored, data, specs):
    arrays, spec = stored.arrays(name, seed), specs(name)
    table = read_table(data / f"{name.lower()}.csv", spec)
    world = ImprovementWorld.from_table(table, spec, seed=seed, people=1000)
    codec = FeatureCodec(spec)
    assert (codec.encode_many(world.instances) == arrays["CF"]).all()
    assert (world.theta == arrays["theta"]).all()
    assert (world.theta_noisy == arrays["theta_noisy"]).all()
    assert (codec.encode_many([world.application(t)[1] for t in range(1000)]) == arrays["X"]).all()
    twin = from_arrays(arrays, spec)
    pairs = [(t, (7 * t) % len(world.instances)) for t in range(1000)]
    assert [world.outcome(t, k) for t, k in pairs] == [twin.outcome(t, k) for t, k in pairs]


def test_arrays_of_another_program_are_refused(stored, specs):
    with pytest.raises(ValueError, match="give the spec of their data"):
        from_arrays(stored.arrays("Diabetes", 0), specs("Credit"))

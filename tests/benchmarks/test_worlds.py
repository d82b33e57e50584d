from __future__ import annotations

import msgspec
import numpy as np
import pytest

from onward.agents.choices import Pull
from onward.agents.options import Options
from onward.benchmarks import face
from onward.benchmarks.truth.aims import Aims
from onward.benchmarks.truth.baselines import Evenly, Thompson
from onward.benchmarks.truth.improvement import WORLDS, Trials
from onward.benchmarks.truth.play import WINDOW, Game
from onward.benchmarks.truth.settings import setting
from onward.benchmarks.truth.shards import Shards
from onward.benchmarks.worlds import SEPARATOR, Args, tables, worlds
from onward.environments.truth import Conditions
from onward.streams.errors import UsageError

LINE = ["--worlds", "population", "--people", "40", "--rows", "600", "--methods", "protoar,thompson,posterior"]


@pytest.fixture(scope="module")
def rows():
    return list(worlds(face.parse(Args, None, [*LINE, "--generators", "search", "--options", "2", "--seeds", "0-1"])))


def test_every_method_is_scored_against_the_oracle_of_its_generator(rows):
    found = {row.name: row for row in rows}
    assert len(found) == 3 * 5
    for method in ("protoar", "thompson", "posterior"):
        name = SEPARATOR.join(("population, forest", "search", method, ""))
        assert 0 < found[f"{name}of the oracle's"].value < 1
        assert 1 <= found[f"{name}changes"].value < 4
        assert found[f"{name}mer"].by_seed.keys() == {0, 1}


def test_learners_with_instances_play_arlim_s_worlds_and_those_where_improvement_grows_with_distance():
    line = ["--parts", "instances", "--worlds", "population", "--people", "40"]
    played = list(worlds(face.parse(Args, None, line)))
    assert msgspec.json.encode(played)
    found = {row.name: row.value for row in played}
    names = [f"instances loan {world} " for world in ("arlim", "distance")]
    assert list(found) == [name + one for name in names for one in ("residual", "posterior", "beta", "oracle")]
    for name in names:
        assert all(0 < found[name + one] < found[f"{name}oracle"] < 1 for one in ("residual", "posterior", "beta"))
    assert found["instances loan distance oracle"] < found["instances loan arlim oracle"]


def test_shards_that_tell_every_outcome_at_once_play_as_one_learner_does():
    trials = Trials(setting("population", None, "logistic", 0, 600), 40, "logistic")
    game, arms = Game.of(trials.plain, trials.offered(2)), trials.offered(2).arms
    one = trials.reward(game, trials.learner(2))
    for number, after, is_same in ((1, np.inf, True), (5, 1, True), (5, np.inf, False)):
        shards = Shards(arms, WINDOW, arm_sd=0.0).divided(number, after)
        assert (trials.reward(game, shards) == one) == is_same


def test_what_shards_lose_is_told_for_every_world_beside_what_those_lose_that_share_nothing():
    line = ["--parts", "shards", "--worlds", "population", "--people", "40", "--rows", "600", "--model", "logistic"]
    names = [row.name for row in worlds(face.parse(Args, None, line))]
    told = ("6 shards lose", "24 shards lose", "24 shards apart lose")
    assert names == [f"{shards} {world} population" for world in WORLDS for shards in told]


def test_the_tables_show_standard_errors_over_seeds(rows):
    (table,) = tables(rows)
    assert table.row_count == 3
    assert all("±" in cell for cell in table.columns[2].cells)


def test_the_same_seed_plays_the_same(rows):
    again = worlds(face.parse(Args, None, [*LINE, "--generators", "search", "--options", "2", "--methods", "thompson"]))
    first = {row.name: row.by_seed[0] for row in rows if "thompson" in row.name}
    assert {row.name: row.by_seed[0] for row in again} == first


def test_thompson_sampling_comes_to_prefer_the_arm_that_is_rewarded():
    arms = np.arange(3)
    options = Options(np.zeros(1), arms, np.zeros((3, 1)), arms, np.ones(3))
    choice = Thompson(np.zeros((3, 1)), window=10)
    taken = []
    for step in range(300):
        arm = choice.choose(options, lambda step=step: np.random.default_rng(step)).arm
        taken.append(arm)
        choice.update(Pull(step, arm, 1.0), float(arm == 2))
    assert set(taken[:60]) == {0, 1, 2}
    assert taken[-50:].count(2) > 45


def test_options_reach_the_measured_margin_or_keep_a_promise_and_instances_stay_at_the_threshold():
    world = setting("population", None, "logistic", 0, 600).world(20, Conditions())
    aims = Aims(world)
    bare, auto, promised = (aims.of(margin, "search") for margin in ("0", "auto", "retrains"))
    assert bare.goal.required == aims.of("auto", "instances").goal.required == 0.5
    assert auto.goal.required > 0.5
    assert (promised.score(world.distinct) <= bare.score(world.distinct)).all()
    assert (promised.score(world.distinct) < bare.score(world.distinct)).any()


def test_a_generator_that_refuses_the_model_is_left_out(capsys):
    flags = [*LINE, "--generators", "adapted,linear", "--methods", "protoar"]
    names = [row.name.split(SEPARATOR)[1] for row in worlds(face.parse(Args, None, flags))]
    assert set(names) == {"adapted"}
    assert "linear is left out: the model's score is not linear" in capsys.readouterr().err


def test_several_options_drawn_evenly_have_the_probability_that_each_is_among_them():
    arms = np.arange(4)
    options = Options(np.zeros(1), arms, np.zeros((4, 1)), arms, np.ones(4))
    picks = Evenly(np.zeros((4, 1)), window=10).select(options, 3, lambda: np.random.default_rng(0))
    assert len({pick.arm for pick in picks}) == 3
    assert {pick.propensity for pick in picks} == {3 / 4}


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        (["--worlds", "moon"], "--worlds: there is no world 'moon', use some of population,credit"),
        (["--methods", "wizard"], "--methods: there is no 'wizard', use some of"),
        (["--generators", "wizard"], "--generators: there is no 'wizard', use some of"),
        (["--margins", "0,1"], "--margins: '1' is no number from 0 to below 1, nor one of auto, retrains"),
    ],
)
def test_a_wrong_name_or_number_is_explained_in_one_line(flags, message, capsys):
    assert face.run(Args, worlds, flags) == UsageError.exit_code
    told = capsys.readouterr().err
    assert message in told
    assert told.count("\n") == 1

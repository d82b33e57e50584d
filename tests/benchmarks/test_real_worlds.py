from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from onward.benchmarks import face
from onward.benchmarks.face import Row
from onward.benchmarks.real import table
from onward.benchmarks.real.figures import Worlds, measured, named
from onward.benchmarks.real.play import Play
from onward.benchmarks.real.program import as_played
from onward.benchmarks.real.settings import SETTINGS
from onward.benchmarks.worlds import Args, worlds
from onward.environments.lender import Oracle
from onward.streams.errors import UsageError

PEOPLE = 24


def test_a_drafted_spec_is_played_with_one_shard_two_changes_and_no_chance_relations():
    drafted = "shards: 24\npolicy:\n  options: 3\nconstraints:\n  # max_changes: 3\n  le:\n    - [a, b]\n# promise: x\n"
    assert (
        as_played(drafted, SETTINGS["plain"])
        == "shards: 1\npolicy:\n  options: 3\n# promise: x\nconstraints: {max_changes: 2}\n"
    )


@pytest.fixture(scope="module")
def small(tmp_path_factory):
    """The plain world with a small program, and what was told there."""
    seed, folder = 0, tmp_path_factory.mktemp("real")
    made = Worlds(seed, PEOPLE, 150, folder)
    world = made._world(replace(SETTINGS["plain"], rows=150, people=PEOPLE))
    people = world.program.rejected(PEOPLE)
    return world, people, Play(world.program, SETTINGS["plain"], people, seed).run(folder / "state")


def test_everybody_is_answered_and_what_is_told_is_held_against_the_truth(small):
    world, people, play = small
    assert len(play.told) == PEOPLE
    assert sum(map(len, play.told)) > PEOPLE
    for number, options in enumerate(play.told):
        for option in options:
            moved = np.flatnonzero(option.targets != people.columns[number])
            assert 1 <= len(moved) <= 2
            assert 0.0 < option.execution < 1.0
            assert 0.0 < option.help < 1.0
    figures = measured(play.told[PEOPLE // 2 :], world)
    assert 0.0 < figures["reward"] <= figures["oracle"] < 1.0
    assert figures["no learning"] <= figures["oracle"]
    assert 0.0 < figures["covered"] <= 1.0


def test_the_covered_share_is_told_where_options_have_an_interval(small):
    world, _, play = small
    told = [[one._replace(interval=(0.0, 1.0)) for one in options] for options in play.told[PEOPLE // 2 :]]
    assert measured(told, world)["covered"] == 1.0


def test_options_of_which_nothing_is_stated_count_for_what_is_true_alone(small):
    world, _, play = small
    usual = play.told[PEOPLE // 2 :]
    told = [[one._replace(stated_help=None, interval=None) for one in options] for options in usual]
    figures, stated = measured(told, world), measured(usual, world)
    assert {"covered", "width", "true between", "stated minus true p"} == stated.keys() - figures.keys()
    assert figures["reward"] == stated["reward"]


def test_the_oracle_finds_an_option_that_the_rules_allow_and_nothing_allowed_is_better(small):
    world, people, _ = small
    oracle, program, random = Oracle(world.program), world.program, np.random.default_rng(0)
    space = program.program.spec.features
    person = people.only(slice(0, 1))
    best, tried = oracle(person), np.repeat(person.columns, 300, axis=0)
    places = [number for number, feature in enumerate(space) if feature.mutable != "none"]
    grid = oracle._targets(person)
    for row in tried:
        two = random.choice(places, 2, replace=False)
        row[two] = grid[random.integers(len(grid)), two]
    carried = program.equations.carried(person.repeated(len(tried)), tried)
    rewards = np.where(program.accepts(carried.columns), carried.execution * carried.help, 0.0)
    assert 0.0 < rewards.max() <= best


def test_a_proxy_is_named_in_time_or_too_late_and_in_a_world_without_one_every_name_is_wrong():
    proxy, plain = SETTINGS["proxy"], SETTINGS["plain"]
    assert named({"savings": 20, "direct_debits": 400}, proxy) == {"named in time": 1.0, "named after": 400.0}
    assert named({"direct_debits": 401}, proxy) == {"named in time": 0.0, "named after": 401.0}
    assert named({}, proxy) == {"named in time": 0.0}
    assert named({"savings": 20, "direct_debits": 400}, plain) == {"named wrongly": 2.0}
    assert named({}, SETTINGS["confounded"]) == {}


def test_an_aim_for_what_is_stated_may_be_missed_on_either_side():
    for value, reached in ((-0.06, False), (-0.04, True), (0.06, False)):
        row = Row(f"{table.EXECUTION} late", value, "", aim=0.05, better="lower")
        assert table.is_real(row)
        assert table.is_reached(row) is reached


def test_a_setting_that_is_not_there_is_a_wrong_flag():
    with pytest.raises(UsageError, match="there is no 'lender', use some of plain,"):
        list(worlds(face.parse(Args, None, ["--parts", "real", "--settings", "lender"])))

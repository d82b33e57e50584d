from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from onward.benchmarks import face
from onward.benchmarks.face import Row
from onward.benchmarks.real import table
from onward.benchmarks.real.equations import People
from onward.benchmarks.real.figures import Worlds, measured, named
from onward.benchmarks.real.oracle import Oracle
from onward.benchmarks.real.play import Case, Play, Told, repeated
from onward.benchmarks.real.program import as_played, history
from onward.benchmarks.real.settings import SETTINGS, THINGS, Setting
from onward.benchmarks.worlds import Args, worlds
from onward.schemas.events import Outcome
from onward.streams.errors import UsageError

NAMES = [thing.name for thing in THINGS]
PEOPLE = 24


def person_of(setting: Setting, seed: int = 0) -> People:
    return setting.equations().draw(1, np.random.default_rng(seed))


def changed(setting: Setting, person: People, **by: float):
    """What comes of a person whose columns change by so much."""
    equations, target = setting.equations(), person.columns.copy()
    for name, amount in by.items():
        target[:, [column.name for column in equations.columns].index(name)] += amount
    return equations.carried(person, target)


def residuals(setting: Setting, things: np.ndarray) -> np.ndarray:
    follows = np.array([[thing.parents.get(name, 0.0) for name in NAMES] for thing in setting.equations().things])
    return things - things @ follows.T


@given(
    name=st.sampled_from(sorted(set(SETTINGS) - {"152-columns"})), seed=st.integers(0, 99), amount=st.integers(1, 900)
)
def test_what_follows_from_a_change_moves_with_it_and_every_other_residual_stays(name, seed, amount):
    setting = replace(SETTINGS[name], measures=1)
    person = person_of(setting, seed)
    carried = changed(setting, person, income=amount, arrears=-0.1 * amount)
    moved = residuals(setting, carried.things) - residuals(setting, person.things)
    is_changed = np.isin(NAMES, ["income", "arrears"])
    assert np.allclose(moved[:, ~is_changed], 0.0)
    shift = (carried.things - person.things)[0]
    assert np.allclose(shift[is_changed], [amount / 800, -0.1 * amount / 160])
    assert shift[NAMES.index("savings")] == pytest.approx(0.3 * amount / 800)
    assert (shift[[NAMES.index("age"), NAMES.index("education"), NAMES.index("tenure")]] == 0.0).all()


def test_who_changes_nothing_is_as_before_and_surely_does_it():
    setting = SETTINGS["side-effects"]
    person = person_of(setting)
    carried = changed(setting, person)
    assert (carried.things == person.things).all()
    assert (carried.columns == person.columns).all()
    assert carried.execution == 1.0
    assert carried.help == setting.equations().help(person.things, person.hidden)


def test_borrowed_savings_raise_debts_and_help_less():
    plain, borrowed = SETTINGS["plain"], SETTINGS["side-effects"]
    person = person_of(plain)
    saved, lent = changed(plain, person, savings=4200), changed(borrowed, person, savings=4200)
    debt = NAMES.index("debt")
    assert saved.columns[0, debt] == person.columns[0, debt]
    assert lent.columns[0, debt] == pytest.approx(person.columns[0, debt] + 0.9 * 3900)
    assert lent.help < saved.help


def test_a_proxy_moves_and_does_not_help():
    setting = SETTINGS["proxy"]
    person = person_of(setting)
    assert changed(setting, person, direct_debits=15).help == changed(setting, person).help
    people = setting.equations().draw(2000, np.random.default_rng(1))
    debits = people.things[:, NAMES.index("direct_debits")]
    assert np.corrcoef(debits, people.hidden)[0, 1] > 0.8


def test_all_measures_of_a_thing_move_with_one_and_keep_their_own_errors():
    setting = SETTINGS["measures"]
    person, columns = person_of(setting), [column.name for column in setting.equations().columns]
    one, two = changed(setting, person, debt_3m=-3900), changed(setting, person, debt_3m=-3900, debt_bank=-1000)
    of_debt = [name.startswith("debt") for name in columns]
    assert sum(of_debt) == 5
    assert (one.columns - person.columns)[0, of_debt] == pytest.approx(-3900)
    assert (two.columns == one.columns).all()
    assert two.execution == one.execution


def test_labels_of_approved_people_alone_are_the_better_ones():
    everybody, approved = (
        history(SETTINGS[name], SETTINGS[name].equations(), np.random.default_rng(0))[1]
        for name in ("plain", "approved-only")
    )
    assert len(everybody) == 4000
    assert not np.isnan(everybody).any()
    known = approved[~np.isnan(approved)]
    assert len(known) == 4000
    assert len(approved) > 5000
    assert known.mean() > everybody.mean() + 0.1


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
    carried = program.equations.carried(repeated(person, len(tried)), tried)
    rewards = np.where(program.accepts(carried.columns), carried.execution * carried.help, 0.0)
    assert 0.0 < rewards.max() <= best


def test_outcomes_are_reported_as_the_setting_says(small):
    world, people, _ = small
    option = Told("2", people.columns[0], 1.0, 0.5, 1.0, 0.5, True)
    case = Case(0, 0, people.only(slice(0, 1)))

    def reported(name: str) -> list[tuple[float, Outcome]]:
        play = Play(world.program, SETTINGS[name], people, 0)
        heard = [one for seed in range(200) for one in play.what_follows(case, option, np.random.default_rng(seed))]
        assert sum(isinstance(event, Case) for _, event in heard) == 200
        return [(days, event) for days, event in heard if isinstance(event, Outcome)]

    plain, late, silent, unnamed = map(reported, ("plain", "late", "silent", "unnamed"))
    assert len(plain) == len(late) == len(unnamed) == 200
    assert 8 < len(silent) < 40
    assert max(days for days, _ in plain) < 90 < min(days for days, _ in late)
    assert {event.option for _, event in plain} == {"2"}
    assert {event.option for _, event in unnamed} == {None}
    assert 60 < sum(event.result == "improved" for _, event in plain) < 140


def test_who_does_not_act_is_never_heard_of(small):
    world, people, _ = small
    play = Play(world.program, SETTINGS["plain"], people, 0)
    option = Told("1", people.columns[0], 0.0, 0.5, 1.0, 0.5, True)
    assert not list(play.what_follows(Case(0, 0, people.only(slice(0, 1))), option, np.random.default_rng(0)))


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

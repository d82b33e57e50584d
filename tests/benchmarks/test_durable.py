from __future__ import annotations

import numpy as np
import pytest

from onward.agents.actor import save_arrays
from onward.benchmarks import face
from onward.benchmarks.durable import Args, durable, tables
from onward.environments.competition import draw_world
from onward.streams.errors import UsageError
from onward.tests.support.goal_policies import constant, written

SMALL = ["--episodes", "2", "--rounds", "6"]


@pytest.fixture(scope="module")
def worlds(tmp_path_factory):
    world = draw_world(1, rows=1000)
    file = tmp_path_factory.mktemp("worlds") / "worlds.npz"
    names = {"mu": "mean", "sd": "deviation", "lo": "low", "hi": "high", "coef": "coef"}
    np.savez(file, intercept=[world.intercept], **{name: getattr(world, own)[None] for name, own in names.items()})
    return file


@pytest.fixture(scope="module")
def rows(worlds):
    return list(durable(face.parse(Args, None, [*SMALL, "--worlds", str(worlds)])))


def test_the_rows_have_the_names_that_others_look_for(rows):
    names = {row.name for row in rows}
    for horizon, beta in ((1, "0.05"), (1, "0.01"), (5, "0.05"), (5, "0.01")):
        case = f"T={horizon} beta={beta}"
        assert names >= {f"RF {case}", f"RR {case}", f"RR after shift {case}"}
    assert names >= {"Gini", "RR T=1 beta=0.05 nominal=0.80", "RR T=5 beta=0.05 nominal=0.90"}


def test_everybody_of_a_round_is_told_the_same_score(rows):
    assert next(row.value for row in rows if row.name == "Gini") < 1e-6


def test_the_table_shows_standard_errors_and_the_papers_numbers(rows):
    (table,) = tables(rows)
    assert table.row_count == len(rows)
    assert "0.707" in table.columns[3].cells


def test_scarce_places_and_changes_are_measured_in_the_worlds_of_a_file(worlds):
    flags = ["--episodes", "1", "--rounds", "10", "--worlds", str(worlds), "--parts", "scarce,shifts"]
    rows = {row.name: row for row in durable(face.parse(Args, None, flags))}
    for case in (f"k/m={share} T={horizon}" for share in (0.3, 0.5, 0.7, 0.9) for horizon in (1, 5)):
        assert (rows[f"RR {case}"].reference, rows[f"RR {case}"].aim) == (0.95, 0.93)
        distance = rows[f"RR {case}, distance from nominal"]
        assert distance.value == pytest.approx(abs(rows[f"RR {case}"].value - 0.95))
        assert (distance.aim, distance.better) == (0.02, "lower")
        assert f"conformal + offset RR {case}" in rows
    for change in ("halved", "halved, announced", "jump", "drift"):
        assert (rows[f"RR after {change}"].aim, rows[f"RR after {change} T=5"].aim) == (0.9, 0.9)
    assert not {name for name in rows if name.startswith("RR T=")}


def test_figures_are_drawn(worlds, tmp_path, monkeypatch):
    monkeypatch.setattr("onward.benchmarks.durable.WORLDS", worlds)
    flags = ["--episodes", "1", "--rounds", "4", "--parts", "horizons", "--figures", str(tmp_path)]
    assert len(list(durable(face.parse(Args, None, flags)))) == 20
    assert (tmp_path / "horizons.svg").is_file()


def test_a_learned_goal_is_measured_where_it_was_trained_beside_the_default(worlds, tmp_path, monkeypatch):
    monkeypatch.setattr("onward.benchmarks.durable.WORLDS", worlds)
    written(tmp_path / "goal.npz", constant(0.0))
    (tmp_path / "goal.json").write_text('{"horizon": 2, "beta": 0.05}')
    rows = list(durable(face.parse(Args, None, [*SMALL, "--parts", "sac", "--sac", str(tmp_path)])))
    assert [row.name for row in rows] == [
        f"{name} T=2 beta=0.05 {measure}"
        for name in ("sac", "sac + offset", "capacity + offset", "capacity + offset, nominal as sac")
        for measure in ("RR", "RF")
    ]
    (alone, _, default, as_low) = (row.value for row in rows if row.name.endswith("RR"))
    assert alone < 0.8 < default  # a policy that always says the mean of newcomers is far too low
    assert as_low < default


def test_the_shares_of_a_training_stand_beside_the_default_goal_and_are_drawn(tmp_path):
    written(tmp_path / "goal.npz", constant(0.0))
    (tmp_path / "goal.json").write_text('{"horizon": 1, "beta": 0.05, "alpha": 7.0}')
    lessons = "".join(f"{number},5.0,0.{number + 50},0.{99 - number}\n" for number in range(1, 31))
    (tmp_path / "goal.csv").write_text(f"lesson,reward,reliability,feasibility\n{lessons}")
    args = [*SMALL, "--parts", "convergence", "--sac", str(tmp_path), "--figures", str(tmp_path)]
    rows = {row.name: row.value for row in durable(face.parse(Args, None, args))}
    case = "sac T=1 beta=0.05, alpha 7, lessons to"
    assert rows[f"{case} 3: RR"] == pytest.approx(0.52)
    assert rows[f"{case} 30: RF"] == pytest.approx(np.mean(np.arange(0.69, 0.785, 0.01)))
    assert (tmp_path / "convergence.svg").stat().st_size


def test_learned_recommenders_need_one_of_each_world_and_stand_beside_the_default(worlds, tmp_path, monkeypatch):
    monkeypatch.setattr("onward.benchmarks.durable.WORLDS", worlds)
    random, sizes = np.random.default_rng(0), [(12, 4), (4, 4), (4, 20)]
    arrays = {f"weight_{k}": random.normal(size=size) for k, size in enumerate(sizes)}
    save_arrays(tmp_path / "recommender.npz", arrays | {f"bias_{k}": np.zeros(size[1]) for k, size in enumerate(sizes)})

    def measured(folders):
        flags = [*SMALL, "--parts", "phi", "--phi", ",".join(folders)]
        return {row.name: row.value for row in durable(face.parse(Args, None, flags))}

    rows = measured([str(tmp_path)])
    errors = [value for name, value in rows.items() if name.endswith("beta=0.05 score error")]
    assert len(errors) == 3
    assert errors[0] > 1e-3 > 1e-9 > errors[2]  # the default has none
    assert measured(2 * [str(tmp_path)]) == {}


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        (["--parts", "wizard"], "--parts: there is no 'wizard'"),
        (["--worlds", "/no/file.npz"], "--worlds:"),
        (["--parts", "sac", "--sac", "/no"], "--sac /no: it holds no trained goal"),
        (["--parts", "phi", "--phi", "/no"], "--phi /no: it holds no trained recommender"),
    ],
)
def test_a_wrong_name_or_file_is_explained_in_one_line(flags, message, worlds, capsys, monkeypatch):
    monkeypatch.setattr("onward.benchmarks.durable.WORLDS", worlds)
    assert face.run(Args, durable, flags) == UsageError.exit_code
    told = capsys.readouterr().err
    assert message in told
    assert told.count("\n") == 1


def test_learned_difficulties_are_held_against_known_ones_in_the_same_episodes(worlds, monkeypatch):
    monkeypatch.setattr("onward.benchmarks.durable.WORLDS", worlds)
    monkeypatch.setattr("onward.benchmarks.durable.SETTINGS", [(1, 0.05)])
    flags = ["--episodes", "1", "--rounds", "15", "--parts", "learned"]
    rows = {row.name: row.value for row in durable(face.parse(Args, None, flags))}
    known, learned = rows["RF known T=1 beta=0.05"], rows["RF learned T=1 beta=0.05"]
    assert rows["RF learned / known T=1 beta=0.05"] == pytest.approx(learned / known)
    assert learned != known
    assert learned / known > 0.8


def test_the_seasons_of_the_demo_are_played_without_the_topics(worlds, monkeypatch):
    monkeypatch.setattr("onward.benchmarks.durable.WORLDS", worlds)
    rows = {row.name: row.value for row in durable(face.parse(Args, None, ["--rounds", "12", "--parts", "demo"]))}
    assert len(rows) == 12
    assert rows["season seed=0, learned RF"] != rows["season seed=0, known RF"]
    assert rows["season seed=0, known RF"] != rows["season seed=1, known RF"]

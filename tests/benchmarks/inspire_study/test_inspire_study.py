"""The authors' errors, one a test, and the parts of the study held against computations of their own."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from onward.benchmarks import inspire
from onward.benchmarks.face import Row
from onward.benchmarks.inspire_study import cols, corrected, figures, peers, sampler, tables
from onward.benchmarks.inspire_study.data import DataSet, Feature, Network, load, load_people
from onward.benchmarks.inspire_study.local_search import OBJECTIVES
from onward.benchmarks.inspire_study.methods import Stored, dice, subjects
from onward.benchmarks.inspire_study.metrics import measure, summary
from onward.benchmarks.inspire_study.ours import network_of, onward
from onward.benchmarks.inspire_study.play import play
from onward.benchmarks.inspire_study.sampler import AS_CODED, AS_PRINTED, FORBIDDEN, cost_of, sample
from onward.benchmarks.peers import process
from onward.streams.errors import UsageError
from onward.streams.programs.models.scoring import scorer

SHARED = Path(os.environ.get("ONWARD_SHARED", Path(__file__).parents[3].parent / "shared")) / "reference" / "inspire"
stored = pytest.mark.skipif(not SHARED.is_dir(), reason="the authors' arrays are not at hand")


def toy() -> DataSet:
    """A number that may rise, two categories, three levels, a fixed category, and a network of one unit."""
    share = np.linspace(0.05, 1.0, 11)
    features = (
        Feature("hours", "ordered", True, 1, 0, 10, (), share),
        Feature("job", "unordered", False, 0, 0, 1, ("a", "b"), np.array([])),
        Feature("gain", "ordered", False, 0, 0, 2, ("0", "1", "2"), np.array([0.7, 0.9, 1.0])),
        Feature("sex", "fixed", False, 0, 0, 1, ("f", "m"), np.array([])),
    )
    hidden = np.array([[2.0, 1.0, 1.0, 0.0]]), np.zeros(1)
    output = np.array([[0.0], [1.0]]), np.array([0.0, -2.0])
    network = Network(np.zeros(4), np.array([10.0, 1.0, 1.0, 1.0]), hidden, output)
    people = np.array([[3, 0, 0, 0], [4, 1, 0, 1], [0, 0, 0, 1]])
    rows = np.random.default_rng(0).integers([0, 0, 0, 0], [11, 2, 3, 2], (60, 4))
    data = DataSet("adult", features, people, (rows, np.zeros(60)), (rows, np.zeros(60)), network)
    assert not data.accepts(people).any()
    assert data.accepts(rows).any()
    return data


def costs(seed: int, person: int, samples: int = 60) -> sampler.CostFunctions:
    data = toy()
    return sample(data, data.people[person], samples, 0.5, np.random.default_rng(seed))


# --- the sampler ------------------------------------------------------------------------------------------------------


def test_a_weight_of_0_gives_the_linear_cost_though_weights_near_0_give_the_percentile_cost() -> None:
    feature, own, weights = toy().features[0], 3, np.array([0.0, 0.01, 0.99, 1.0])
    linear, percentile = 1.0 / 7.0, 0.095  # of one of seven steps up
    expected = {
        AS_CODED: [linear, percentile, linear, percentile],
        AS_PRINTED: [percentile, percentile, linear, linear],
    }
    for sampling, means in expected.items():
        random = np.random.default_rng(0)
        found = sampler._mean(feature, own, np.array([4]), np.zeros(4), weights, random, sampling)
        assert found[0] == pytest.approx(means, abs=0.001)


@pytest.mark.parametrize(("sampling", "deviation"), [(AS_CODED, 0.001**0.5), (AS_PRINTED, 0.01)])
def test_the_noise_has_a_variance_of_a_thousandth_where_a_deviation_of_a_hundredth_is_meant(
    sampling: sampler.Sampling, deviation: float
) -> None:
    noisy = sampler._noisy(np.full(20_000, 0.4), sampling.variance, np.random.default_rng(0))
    assert noisy.std() == pytest.approx(deviation, rel=0.03)
    assert noisy.mean() == pytest.approx(0.4, abs=0.002)


def test_the_functions_that_are_optimised_for_have_the_weight_of_the_hidden_ones() -> None:
    coded, printed = (
        [
            (subject.sampled.alpha, subject.hidden.alpha)
            for subject in subjects(toy(), toy().people, 0, samples=20, hidden=5, sampling=sampling)
        ]
        for sampling in (AS_CODED, AS_PRINTED)
    )
    assert all(len({*sampled.tolist(), *hidden.tolist()}) == 1 for sampled, hidden in coded)
    assert all(len(set(sampled.tolist())) > 5 for sampled, _ in printed)


def test_a_person_changes_from_one_to_all_free_features_and_pays_for_no_others() -> None:
    drawn, data = costs(0, 1, 900), toy()
    assert np.bincount(drawn.editable.sum(axis=1)).tolist()[0] == 0
    assert not drawn.editable[:, 3].any()
    numbers = np.bincount(drawn.editable.sum(axis=1))[1:]
    assert (abs(numbers - 300) < 60).all()
    person = data.people[1]
    assert (cost_of(data, person[np.newaxis], drawn.costs) == 0.0).all()
    lower, upper = (person + np.array([step, 0, 0, 0]) for step in (-1, 1))
    assert (cost_of(data, lower[np.newaxis], drawn.costs) == FORBIDDEN).all()
    assert ((cost_of(data, upper[np.newaxis], drawn.costs)[0] < FORBIDDEN) == drawn.editable[:, 0]).all()


# --- COLS -------------------------------------------------------------------------------------------------------------


def test_all_places_change_at_once_so_that_the_emc_can_rise() -> None:
    """Each newcomer may take a place as long as the other row stays, which is cheap for the first sample."""
    best = np.array([[1.0, 6.0, 9.0], [2.0, 9.0, 6.0]])
    newcomers = np.array([[9.0, 3.0, 9.0], [9.0, 9.0, 3.0]])
    rows, new = np.array([[1], [2]]), np.array([[3], [4]])
    counts, paid = np.zeros(3, dtype=np.int64), best.copy()
    cols.replace(rows, paid, new, newcomers, 2, counts)
    assert rows.tolist() == [[3], [4]]
    assert (best.min(axis=0).sum(), paid.min(axis=0).sum()) == (13.0, 15.0)
    assert counts.tolist() == [0, 1, 1]


def test_places_among_helpful_rows_are_taken_for_places_among_all() -> None:
    held = np.array([[5.0, 5.0]])
    new = np.array([[6.0, 6.0], [1.0, 1.0]])  # the second one helps
    found = {}
    for misplaces in (False, True):
        rows, paid = np.zeros((2, 3), dtype=np.int64), np.concatenate([held, np.zeros((1, 2))])
        assert cols.add(rows, paid, 1, np.array([[7, 7, 7], [8, 8, 8]]), new, 2, misplaces) == 2
        found[misplaces] = rows[1].tolist()
    assert found == {False: [8, 8, 8], True: [7, 7, 7]}


def test_a_sentinel_makes_coverage_all_that_counts() -> None:
    """The newcomer covers one sample more and costs the other nine much more."""
    best = np.array([[0.1] * 9 + [FORBIDDEN], [FORBIDDEN] * 10])
    newcomer = np.array([[3.0] * 10])
    rows, paid, counts = np.array([[1], [2]]), best.copy(), np.zeros(3, dtype=np.int64)
    cols.replace(rows, paid, np.array([[3]]), newcomer, 1, counts)
    assert rows[0].tolist() == [3]
    with_cap = np.minimum(np.concatenate([best[:1], newcomer]), 3.5).min(axis=1, keepdims=True)
    assert np.minimum(best[0], 3.5).mean() < with_cap[1, 0]


@stored
def test_half_of_the_queries_change_what_the_person_may_not() -> None:
    data, random = load(SHARED, "adult"), np.random.default_rng(0)
    space = data.low, data.span, data.is_integer, data.offsets
    broken, draws = 0, random.uniform(size=(2000, cols.DRAWS))
    for number, draw in enumerate(draws):
        person = data.people[number % len(data.people)]
        row = person.copy()
        cols.perturb(row, space, draw, 1 + number % 2)
        shift = row - person
        fixed = [feature.kind == "fixed" for feature in data.features]
        against = [feature.direction * change < 0 for feature, change in zip(data.features, shift, strict=True)]
        broken += bool((shift[fixed] != 0).any() or np.any(against))
    assert 0.4 < broken / len(draws) < 0.55
    assert not any(
        (found - data.people[0])[6:8].any()
        for found in corrected.cols(data, data.people[0], costs_of(data), random, budget=300).rows
    )


def costs_of(data: DataSet) -> np.ndarray:
    return sample(data, data.people[0], 50, 0.5, np.random.default_rng(0)).costs


def test_corrected_the_emc_never_rises() -> None:
    data = toy()
    for number, person in enumerate(data.people):
        drawn, random = costs(number, number), np.random.default_rng(number)
        found = corrected.cols(data, person, drawn.costs, random, size=3, budget=300)
        assert found.rises == 0
        assert found.updates > 0
        assert data.accepts(found.rows).all()
        several = corrected.p_cols(data, person, drawn.costs, random, size=3, budget=300)
        assert several.rises == 0


def test_a_search_spends_its_budget_and_returns_as_many_rows_as_asked() -> None:
    data, drawn = toy(), costs(0, 0)
    for search, runs in ((cols.cols, 1), (cols.p_cols, cols.RUNS)):
        found = search(data, data.people[0], drawn.costs, np.random.default_rng(0), size=4, budget=400)
        assert found.rows.shape == (4, 4)
        assert 400 <= found.model_rows <= 400 + 8 * runs
        again = search(data, data.people[0], drawn.costs, np.random.default_rng(0), size=4, budget=400)
        assert np.array_equal(found.rows, again.rows)


@stored
def test_the_network_has_one_hidden_layer() -> None:
    with np.load(SHARED / "adult_binary_classifier.npz") as file:
        assert {name: file[name].shape for name in file} == {"W0": (20, 12), "b0": (20,), "W1": (2, 20), "b1": (2,)}


# --- the other methods ------------------------------------------------------------------------------------------------


def test_the_time_of_sets_that_were_made_for_all_at_once_is_shared_among_the_people() -> None:
    data = toy()
    crowd = subjects(data, data.people, 0, samples=5, hidden=5)
    _, seconds = play(data, crowd, {"at once": Stored([data.people[:1]] * 3, 6.0), "each": lambda *_: data.people[:1]})
    assert seconds["at once"] == 2.0
    assert 0.0 <= seconds["each"] < 1.0


def test_dice_without_its_environment_is_said_in_one_line_and_left_out(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(process, "BUILD", tmp_path)
    peers.dice_is_installed.cache_clear()
    assert dice(toy(), toy().people) == dice(toy(), toy().people) == {}
    peers.dice_is_installed.cache_clear()
    told = capsys.readouterr().err
    assert told.count("\n") == 1
    assert "DiCE is left out: it is not installed (`make install-dice` does it)" in told


def test_actionable_recourse_finds_rows_with_a_small_budget_and_answers_without_rows_with_a_tiny_one() -> None:
    data, person = toy(), toy().people[0]
    for budget, found in ((60, True), (2, False)):
        rows = peers.actionable_recourse(data, person, np.random.default_rng(0), 3, budget)
        assert rows.dtype == np.int64
        assert bool(len(rows)) == found
        assert data.accepts(rows).all()


def test_the_distance_of_features_is_that_of_the_nearest_sample_by_the_features_that_differ() -> None:
    subsets = np.array([[1, 1, 0, 0], [0, 0, 0, 1], [1, 1, 1, 0]], dtype=bool)
    samples = np.array([[1, 1, 0, 0], [1, 1, 1, 1]], dtype=bool)
    assert figures._distances(subsets, samples) == pytest.approx([0.0, 3**0.5, 1.0])


def test_a_figure_that_is_not_that_of_the_reference_misses_its_aim() -> None:
    own = dict.fromkeys(tables.METRICS, (80.0, 0.6))
    stored = {tables.STORED.get(metric, metric): 80.0 for metric in tables.METRICS}
    stored |= {"FS_at_1": 81.0, "FS_at_1_se": 0.8, "Cov": 82.1, "Cov_se": 0.8, "Div": 81.0, "Prox": 82.0}
    rows = {row.name.split()[0]: row for row in tables._agreement("adult", "COLS", own, stored)}
    assert list(rows) == list(tables.METRICS)
    assert rows["FS@1"].value == pytest.approx(1.0)  # of a standard error of .6 and .8
    assert rows["Div"].value == pytest.approx(1.0 / (0.6 * 2**0.5))  # of twice its own
    assert [name for name, row in rows.items() if not row.reached] == ["Cov", "Prox"]


@stored
@pytest.mark.slow
def test_every_table_and_figure_is_printed_and_drawn(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(peers, "dice_is_installed", lambda: False)  # it has a test of its own, and takes long to start
    args = inspire.Args(inspire=SHARED, studies=("adult",), people=30, fewer=2, answer_seeds=range(0), figures=tmp_path)
    parts = tuple(part for part in inspire.PARTS if part not in ("named", inspire.ANSWERS))
    names = [row.name for row in inspire.inspire(replace(args, parts=parts))]
    assert len(names) == len(set(names))
    methods = ("AR", "FACE-knn", "FACE-epsilon", "random", "COLS", "P-COLS", "Onward")
    expected = {
        *(f"{metric} adult {method}" for metric in (*tables.METRICS, "time") for method in methods),
        *(f"table 4, DIR-{metric} adult by sex, {method}" for metric in ("FS@1", "Cov") for method in methods),
        *(f"table 6, DIR-{metric} adult by race, {method}" for metric in ("FS@1", "Cov") for method in methods),
        *(f"table 9, another seed, 2 people, FS@1 adult {method}" for method in methods),
        *(f"table 10, logistic regression, 2 people, FS@1 adult {method}" for method in methods),
        *(f"table 11, FS@{k} adult {method}" for k in ("0.5", "1", "2", "3") for method in methods),
        *(f"table 2, 2 people, EMC adult local search, {name}" for name in OBJECTIVES),
        *(f"figure 4, 2 people, FS@1 adult {method}, 10000 budget" for method in methods),
        *(f"figure 5, 2 people, FS@1 adult {method}, 30 options" for method in methods),
        *(f"figure 6, 2 people, FS@1 adult {method}, 1000 samples" for method in ("COLS", "Onward")),
        "figure 2, 2 people, FS@1 adult COLS, alpha 0.2 for 0.8",
        "figure 3, 2 people, FS@1 adult COLS, drop (published)",
    }
    assert expected <= set(names)
    assert sorted(file.name for file in tmp_path.iterdir()) == [f"figure_{n}_adult.svg" for n in (4, 5, 6)]


# --- the data, the metrics and the program ----------------------------------------------------------------------------


@stored
@pytest.mark.parametrize("name", ["adult", "compas"])
def test_the_program_scores_people_as_the_authors_classifier_does(name: str) -> None:
    data = load(SHARED, name)
    rows = data.train[0][:500]
    with np.load(SHARED / f"{name}_binary.npz") as file:
        np.testing.assert_allclose(data.score(data.people), file["h_test_negative"], atol=1e-6)
    with onward(data) as program:
        codec, from_features = program._codec, [program.features(row) for row in rows]
        encoded = codec.encode_many(from_features)
    score = scorer(network_of(data), codec.dimension).score
    np.testing.assert_allclose(score(encoded), data.score(rows), atol=1e-12)


def test_the_measures_are_those_of_the_definitions() -> None:
    data, person = toy(), toy().people[0]
    rows = np.array([[8, 1, 0, 0], [8, 1, 0, 0], [9, 1, 2, 0], [3, 0, 0, 0]])  # one twice, and the person
    hidden = np.full((data.offsets[-1], 2), 0.4)
    hidden[:, 1] = FORBIDDEN
    for number, value in enumerate(person - data.low):
        hidden[data.offsets[number] + value] = 0.0
    found = measure(data, person, rows, hidden, hidden, size=4)
    assert found.satisfied.tolist() == [0.0, 0.5, 0.5, 0.5]
    assert (found.covered, found.cost, found.emc) == (0.5, 0.4, (0.8 + 4.0) / 2)
    assert found.validity == 0.5
    assert found.diversity == pytest.approx((0.1 + 1.0) / 4)
    assert found.proximity == pytest.approx(1.0 - ((0.5 + 1.0) / 4 + (0.6 + 1.0 + 1.0) / 4) / 2)
    assert found.sparsity == pytest.approx(1.0 - (2 / 4 + 3 / 4) / 2)
    assert summary([found])["PAC"][0] == pytest.approx(0.8)
    nothing = measure(data, person, rows[:0], hidden, hidden, size=4)
    assert np.isnan([summary([nothing])[name][0] for name in ("PAC", "Prox", "Spars")]).all()
    assert summary([found, nothing])["Prox"][0] == pytest.approx(100.0 * found.proximity)


@stored
def test_the_named_rows_are_those_that_are_asked_for(tmp_path: Path) -> None:
    file = tmp_path / "users.npz"
    arrays = {f"{name}_binary": load(SHARED, name).people[:3] for name in ("adult", "compas")}
    np.savez(file, **arrays)
    rows = list(inspire.inspire(inspire.Args(users=file, inspire=SHARED)))
    expected = [
        name.replace("D", data)
        for data in ("adult", "compas")
        for name in (
            *("FS@1 D N=3", "Cov D N=3", "FS@1 D N=10", "Cov D N=10", "PAC D N=10", "EMC D N=10"),
            *("FS@1 D COLS", "Cov D COLS", "EMC D COLS", "FS@1 D P-COLS"),
            *("EMC below P-COLS D", "EMC rises D", "model rows D", "ms a person D"),
        )
    ]
    assert [row.name for row in rows] == expected
    assert value(rows, "EMC rises adult") == 0.0
    assert value(rows, "model rows adult") <= 1000.0
    assert value(rows, "FS@1 adult N=10") >= value(rows, "FS@1 adult N=3") > 0.0


def value(rows: list[Row], name: str) -> float:
    return next(row.value for row in rows if row.name == name)


@stored
@pytest.mark.parametrize(
    ("rows", "line"),
    [
        (np.zeros((0, 12)), "shape"),
        (np.zeros((2, 5)), "shape"),
        (np.full((2, 12), 0.5), "a value that the data do not have"),
        (np.full((2, 12), 500), "a value that the data do not have"),
        (None, "holds no array"),
    ],
)
def test_a_file_of_users_that_does_not_fit_is_one_line(tmp_path: Path, rows: np.ndarray | None, line: str) -> None:
    file, data = tmp_path / "users.npz", load(SHARED, "adult")
    np.savez(file, **({} if rows is None else {"adult_binary": rows}))
    with pytest.raises(UsageError, match=line):
        load_people(file, data)
    np.savez(file, adult_binary=data.train[0][data.accepts(data.train[0])][:2])
    with pytest.raises(UsageError, match="the classifier accepts 2"):
        load_people(file, data)

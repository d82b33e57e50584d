"""Programs trained on a part of the rows, and asked of models of the rows that were kept aside."""

from __future__ import annotations

import csv
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

import onward
from onward.schemas.encoding import FeatureCodec
from onward.schemas.table import read_table
from onward.streams.cli import main
from onward.streams.errors import OnwardError
from onward.streams.programs.spec_check import load_program_spec
from onward.streams.programs.training.dates import read_dates
from onward.streams.programs.training.kept_aside import HALVINGS, MODELS, RepeatedTraining, cuts, halvings, trials
from onward.tests.support.loans import reviewed_spec, write_loans

FOLDERS = iter(range(1000))


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("kept_aside")
    write_loans(folder / "loans.csv")
    (folder / "spec.yaml").write_text(reviewed_spec() + "\npromise: {kind: retrains}\n")
    return folder


@pytest.fixture
def random() -> np.random.RandomState:
    return np.random.RandomState(0)


def test_halves_hold_all_rows_change_places_and_differ_in_their_labels(random: np.random.RandomState) -> None:
    labels = np.repeat([0, 1], [30, 70])
    splits = list(halvings(labels, random))
    assert len(splits) == 2 * HALVINGS
    for first, second in zip(splits[::2], splits[1::2], strict=True):
        assert first.used.tolist() == second.aside.tolist()
        assert first.aside.tolist() == second.used.tolist()
        assert sorted([*first.used, *first.aside]) == list(range(100))
    assert len({tuple(sorted(split.used)) for split in splits}) == len(splits)
    assert len({int(labels[split.used].sum()) for split in splits}) > 2


def test_later_rows_are_kept_aside_and_those_of_one_date_together(random: np.random.RandomState) -> None:
    dates = random.permutation(np.repeat([2001.0, 2002.0, 2003.0, 2004.0, 2010.0], 40))
    splits = cuts(dates, random.randint(0, 2, 200), random)
    assert [len(split.used) for split in splits] == [80, 120]
    for own, aside in splits:
        assert dates[own].max() < dates[aside].min()
        assert len(own) + len(aside) == 200


def test_no_row_of_a_program_reaches_the_models_that_are_asked(
    folder: Path, random: np.random.RandomState, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The columns of a row name it, so each fit says which rows it has seen."""
    loaded = load_program_spec(folder / "spec.yaml")
    codec, table = FeatureCodec(loaded.spec), read_table(folder / "loans.csv", loaded.spec)
    table.X[:, 0] = np.linspace(0, 1, len(table.X))
    names = {value: row for row, value in enumerate(table.X[:, 0].tolist())}
    fit, seen = LogisticRegression.fit, list[list[int]]()

    def recorded(self: Any, X: np.ndarray, y: np.ndarray) -> Any:
        seen.append([names[value] for value in X[:, 0].tolist()])
        return fit(self, X, y)

    monkeypatch.setattr(LogisticRegression, "fit", recorded)
    [split, *_] = halvings(table.labels, random)
    [trial] = trials(RepeatedTraining(codec, table, LogisticRegression(), 4), [split], random)
    own, others = seen[:5], seen[5:]
    assert set().union(*own) <= set(split.used.tolist())
    assert len(others) == MODELS
    assert all(set(rows) <= set(split.aside.tolist()) for rows in others)
    assert [len(set(rows)) for rows in others] == MODELS * [len(own[0])]
    assert len({tuple(sorted(rows)) for rows in others}) == MODELS
    assert trial is not None
    assert (trial.certified <= 2).all()
    assert ((trial.accepted >= 0) & (trial.accepted <= 1)).all()
    assert len(trial.promised.people) <= len(trial.accepted)


def drawn(seed: int, rows: int) -> Iterator[list[object]]:
    """People of one population, as many as are asked for, of another draw for each seed."""
    random = np.random.default_rng(seed)
    for _ in range(rows):
        income, debts = int(random.integers(10, 101)), int(random.integers(0, 10))
        yield [income, debts, "north", int(income - 8 * debts + 25 * random.normal() > 20)]


def write(path: Path, rows: list[list[object]], *more: str) -> Path:
    with path.open("w", newline="") as stream:
        csv.writer(stream).writerows([["income", "debts", "region", "repaid", *more], *rows])
    return path


@pytest.mark.slow
def test_the_stated_share_is_that_of_models_of_fresh_rows_and_the_bound_holds(folder: Path, tmp_path: Path) -> None:
    """Fixed seeds, ten files of 400 rows, 20 models of other draws. Both claims are refused at an error rate of 5 %."""
    loaded = load_program_spec(folder / "spec.yaml")
    codec, others = FeatureCodec(loaded.spec), []
    for seed in range(100, 120):
        table = read_table(write(tmp_path / "other.csv", list(drawn(seed, 200))), loaded.spec)
        others.append(LogisticRegression(max_iter=1000).fit(table.X, table.labels))
    over, held = [], []
    for seed in range(10):
        place = tmp_path / str(seed)
        place.mkdir()
        (place / "spec.yaml").write_bytes((folder / "spec.yaml").read_bytes())
        data = write(place / "data.csv", list(drawn(seed, 400)))
        onward.train(data, place / "spec.yaml", place / "model", estimator="logistic_regression", seed=seed, retrains=8)
        people = [dict(zip(("income", "debts", "region"), row[:3], strict=True)) for row in drawn(200 + seed, 40)]
        answers = onward.load_program(place / "spec.yaml").suggest(people)
        found = [(answer, option) for answer in answers for option in getattr(answer, "options", ())]
        changed = [
            people[int(answer.application)] | {each.feature: each.target for each in option.changes}
            for answer, option in found
        ]
        accepted = np.mean([model.predict(codec.encode_many(changed)) for model in others], axis=0)
        share, bound = (np.array([option.promise[name] for _, option in found]) for name in ("share", "bound"))
        over.append(float((share - accepted).mean()))
        held.append(float((bound <= accepted).mean()))
    error, missed = (1.83 * np.std(each, ddof=1) / np.sqrt(len(each)) for each in (over, held))
    assert np.mean(over) <= error < 0.2
    assert np.mean(over) > -0.15
    assert np.mean(held) >= 0.95 - missed > 0.8


@pytest.mark.parametrize(
    ("rows", "says"),
    [
        (
            list(drawn(0, 39)),
            r"data\.csv: too few rows to measure .*: there are 39 rows, and it takes 40; give more data",
        ),
        (
            [[20 + 2 * n, 3, "north", int(n > 5)] for n in range(40)],
            r"data\.csv: too few rows .*: a half of them has [0-3] rows of one label, and it takes 4; give more data",
        ),
    ],
)
def test_data_that_are_too_few_for_the_promise_are_refused_in_one_line(
    folder: Path, tmp_path: Path, rows: list[list[object]], says: str
) -> None:
    data = write(tmp_path / "data.csv", rows)
    with pytest.raises(OnwardError, match=says) as refused:
        onward.train(data, folder / "spec.yaml", tmp_path / "new", estimator="logistic_regression")
    assert "\n" not in str(refused.value)
    assert not (tmp_path / "new").exists()


def trained_by(tmp_path: Path, folder: Path, dates: list[str], *flags: str) -> int:
    rows = [[*row, date] for row, date in zip(drawn(3, len(dates)), dates, strict=True)]
    write(tmp_path / "data.csv", rows, "applied")
    (tmp_path / "spec.yaml").write_bytes((folder / "spec.yaml").read_bytes())
    named = ["--spec", str(tmp_path / "spec.yaml"), "--output", str(tmp_path / "model"), "--retrains", "8"]
    return main(["train", str(tmp_path / "data.csv"), *named, "--estimator", "logistic_regression", *flags])


DAYS = [f"20{20 + n // 60}-{1 + n // 5 % 12:02}-1{n % 5}" for n in range(300)]


def test_with_dates_the_share_is_that_of_models_of_later_rows(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert trained_by(tmp_path, folder, DAYS, "--date-column", "applied") == 0
    told = capsys.readouterr()
    assert "measured the promise on rows kept aside: 4 of 4 splits\n" in told.err
    assert "promise: retrains; of models trained on later rows of such data about " in told.out
    people = [{"income": 20, "debts": 5, "region": "north"}]
    [answer] = onward.load_program(tmp_path / "spec.yaml").suggest(people)
    assert isinstance(answer, onward.Recourse)
    assert all(option.promise and option.promise["models_of_later_rows"] == 40 for option in answer.options)
    assert "of models trained on later rows of such data, of which 40 were asked" in str(answer)


def test_who_has_dates_and_does_not_name_them_is_told(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert trained_by(tmp_path, folder, DAYS) == 0
    said = "the data have dates (applied): with `--date-column NAME` the promise is measured on later"
    assert f"\n{said}" in capsys.readouterr().err
    assert trained_by(tmp_path, folder, [f"no date {n}" for n in range(300)], "--output", str(tmp_path / "new")) == 0
    assert "the data have dates" not in capsys.readouterr().err


@pytest.mark.parametrize(
    ("dates", "column", "says"),
    [
        (DAYS, "aplied", "has no column 'aplied' (did you mean applied?)\n"),
        ([*DAYS[:7], "last May", *DAYS[8:]], "applied", "data.csv:9: applied: 'last May' is no date: write dates as"),
        ([*DAYS[:7], "2021", *DAYS[8:]], "applied", "data.csv:9: applied: '2021' is no date: write dates as"),
        ([*map(str, range(1901, 2200)), "nan"], "applied", "data.csv:301: applied: 'nan' is no date: write dates as"),
        ([str(19 + n % 50) for n in range(300)], "applied", "data.csv:2: applied: '19' is no date: write dates as"),
        (["20260131", "20261301"] * 150, "applied", "data.csv:3: applied: '20261301' is no date: write dates as"),
        (["2021"] * 300, "applied", "too few rows of both labels lie before and after at least two dates; give more"),
    ],
)
def test_dates_that_do_not_serve_are_refused_in_one_line(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], dates: list[str], column: str, says: str
) -> None:
    assert trained_by(tmp_path, folder, dates, "--date-column", column) == 2
    [*_, told] = capsys.readouterr().err.splitlines(keepends=True)
    assert told.startswith("onward: ")
    assert says in told
    assert not (tmp_path / "model").exists()


def test_dates_are_refused_where_nothing_is_measured_by_them(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "spec.yaml").write_text(reviewed_spec())
    with pytest.raises(
        OnwardError, match=r"--date-column: .*spec\.yaml does not ask for `promise: \{kind: retrains\}`"
    ):
        onward.train(folder / "loans.csv", tmp_path / "spec.yaml", tmp_path / "new", date_column="applied")


def test_the_dates_are_part_of_the_version(folder: Path, tmp_path: Path) -> None:
    versions = set()
    for name, flags in (("one", ["--date-column", "applied"]), ("two", []), ("three", [])):
        (tmp_path / name).mkdir()
        assert trained_by(tmp_path / name, folder, DAYS, *flags) == 0
        versions.add(onward.load_program(tmp_path / name / "spec.yaml").model)
    assert len(versions) == 2


@pytest.mark.parametrize(
    "dates", [("2021", "2022.5"), ("202612", "202701"), ("20261231", "20270101"), ("1.7e9", "1.8e12")]
)
def test_numbers_that_are_dates_are_taken_as_they_are(tmp_path: Path, dates: tuple[str, ...]) -> None:
    (tmp_path / "data.csv").write_text("\n".join(["applied", *dates]))
    assert read_dates(tmp_path / "data.csv", "applied").tolist() == list(map(float, dates))

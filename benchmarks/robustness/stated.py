"""What the promise `retrains` states of an option, held against models of rows that its program never saw.

The rows are halved at random. A program is trained on one half as ``onward train`` does it, and its options are what
``suggest`` answers to rejected people of that half whom the model was not fitted on. Models of the other half are asked
about them, each trained on a random half of it. Then the halves change places: what a model of one half has too much, a
model of the other has too little.
"""

from __future__ import annotations

import csv
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import train_test_split
from threadpoolctl import threadpool_limits

import onward
from onward.agents.promises import accepting
from onward.agents.scores import Score
from onward.benchmarks.face import Row, progress
from onward.benchmarks.truth.settings import spec_text
from onward.schemas.encoding import FeatureCodec
from onward.schemas.specfile import LoadedSpec
from onward.schemas.table import Table, read_table
from onward.streams.programs.bundle.loader import ModelBundle, load_bundle
from onward.streams.programs.bundle.manifest import MANIFEST
from onward.streams.programs.bundle.retrains import retrain_of
from onward.streams.programs.promised import measured_promise
from onward.streams.programs.spec_check import load_program_spec
from onward.streams.programs.training.train import ESTIMATORS, EstimatorName, split_rows, train

Indices = NDArray[np.intp]
Floats = NDArray[np.float64]

KINDS: Mapping[str, EstimatorName] = {"logistic": "logistic_regression", "forest": "random_forest"}
BREAST, SBA = "breast", "sba"
FILES: Mapping[str, str] = {"diabetes": "diabetes.csv", "compas": "compas.csv", SBA: "SBAcase.11.13.17.csv"}
YEAR, FIRST_LATER_YEAR = "ApprovalFY", 2006
PROMISE = "\npromise: {kind: retrains}\n"
MOST_OVERSTATED, LEAST_HELD = 0.03, 0.95


class DataSet(NamedTuple):
    """A data file as text, and its rows by its spec."""

    name: str
    header: Sequence[str]
    lines: Sequence[Sequence[str]]
    spec: str
    table: Table


class Found(NamedTuple):
    """The options of a program: what is stated of each, (n,), what its own retrains say, and what other models do."""

    share: Floats
    bound: Floats
    own_share: Floats
    own_bound: Floats
    accepted: Floats
    seconds: float


Split = tuple[Indices, Indices]


def stated(
    data: Path | None,
    splits: int,
    retrains: int,
    people: int,
    rows: int,
    seed: int,
    kinds: Sequence[str] = tuple(KINDS),
) -> Iterator[Row]:
    """The figures of each data set and kind of model: means over random halvings, both ways.

    A program has twice ``retrains`` retrains; as many later models are asked, about options of at most ``people``.
    """
    with tempfile.TemporaryDirectory() as folder:
        for source in _data_sets(Path(folder), data, rows):
            for kind in kinds:
                asked = _asked(Path(folder), source, kind, retrains, people, seed)
                by_split: dict[int, list[Found]] = {}
                for split in range(seed * splits, (seed + 1) * splits):
                    halves = _halves(source.table, split)
                    by_split[split] = [asked(each, split, None) for each in (halves, halves[::-1])]
                    progress(f"{source.name}, {kind}, split {split}: {_told(by_split[split])}")
                yield from _rows(f"{source.name} {kind}", by_split, aims=True)
                if source.name == SBA:
                    yield from _by_time(source, kind, asked, seed)


def _by_time(source: DataSet, kind: str, asked: Callable[[Split, int, str | None], Found], seed: int) -> Iterator[Row]:
    """Trained on earlier loans and asked of models of later ones; without the dates and with them."""
    years = np.array([int(line[source.header.index(YEAR)]) for line in source.lines])
    split = np.flatnonzero(years < FIRST_LATER_YEAR), np.flatnonzero(years >= FIRST_LATER_YEAR)
    for column, title in ((None, "without dates"), (YEAR, "with dates")):
        found = [asked(split, seed, column)]
        progress(f"{source.name} by time, {kind}, {title}: {_told(found)}")
        yield from _rows(f"{source.name} by time {title} {kind}", {seed: found}, aims=False)


def _asked(
    folder: Path, source: DataSet, kind: str, retrains: int, people: int, seed: int
) -> Callable[[Split, int, str | None], Found]:
    """Train a program on a part of the rows, and ask models of the other part about its options."""
    numbers = iter(range(10**6))

    def ask(split: Split, number: int, date_column: str | None) -> Found:
        own, aside = split
        place = folder / f"{source.name}-{kind}-{seed}-{next(numbers)}"
        place.mkdir()
        _write(place / "own.csv", source.header, [source.lines[row] for row in own.tolist()])
        (place / "spec.yaml").write_text(source.spec + PROMISE)
        loaded = load_program_spec(place / "spec.yaml")
        began = time.process_time()
        train(
            place / "own.csv",
            loaded,
            place / "model",
            estimator=KINDS[kind],
            seed=number,
            retrains=2 * retrains,
            date_column=date_column,
        )
        seconds = time.process_time() - began
        others = _models(source.table, aside, kind, retrains, number)
        return _found(place, loaded, source.table, own, people, number, others)._replace(seconds=seconds)

    return ask


def _found(
    place: Path, loaded: LoadedSpec, table: Table, own: Indices, people: int, seed: int, others: Sequence[Score]
) -> Found:
    """What is stated of the options of a program's people, and what other models say."""
    codec, spec = FeatureCodec(loaded.spec), loaded.spec
    bundle = load_bundle(str(place / "model" / MANIFEST), sha256=None, columns=codec.columns, codec=codec)
    _, *unseen = split_rows(table.labels[own], place / "own.csv", np.random.RandomState(seed))
    rows = own[np.concatenate(unseen)]
    rejected = rows[bundle.model.score(table.X[rows]) <= spec.model.threshold][:people]
    answers = onward.load_program(place / "spec.yaml").suggest([table.rows[row] for row in rejected.tolist()])
    options = [
        (
            {**table.rows[rejected[int(answer.application)]], **option.after},
            option,
        )
        for answer in answers
        if isinstance(answer, onward.Recourse)
        for option in answer.options
    ]
    targets = codec.encode_many([person for person, _ in options])
    promised = [option.promise or {} for _, option in options]
    own_words = _own_words(loaded, bundle, targets)
    return Found(
        np.array([each["share"] for each in promised]),
        np.array([each["bound"] for each in promised]),
        *own_words,
        accepting(targets, others, spec.model.threshold),
        0.0,
    )


def _own_words(loaded: LoadedSpec, bundle: ModelBundle, targets: Floats) -> tuple[Floats, Floats]:
    """The shares and bounds that the certifying retrains alone would state, (n,) of each."""
    promise = measured_promise(loaded.spec.promise, bundle.model, bundle.retrains)
    found = [promise.guarantee(target, bundle.model.score, loaded.spec.model.threshold) or {} for target in targets]
    return np.array([each["share"] for each in found]), np.array([each["bound"] for each in found])


def _models(table: Table, aside: Indices, kind: str, count: int, seed: int) -> Sequence[Score]:
    """Models of random halves of the rows kept aside, as ``onward train`` fits them."""
    found = []
    for number in range(count):
        random = np.random.RandomState([seed, number])
        fit, _ = train_test_split(aside, test_size=0.5, stratify=table.labels[aside], random_state=random)
        with threadpool_limits(1):
            fitted = ESTIMATORS[KINDS[kind]](random).fit(table.X[fit], table.labels[fit])
        found.append(retrain_of(fitted, table.X.shape[1]).score)
    return found


def _halves(table: Table, seed: int) -> Split:
    """Not stratified: another file has another share of each label too."""
    first, second = np.array_split(np.random.RandomState(seed).permutation(len(table.labels)), 2)
    return first, second


def _rows(title: str, by_split: Mapping[int, Sequence[Found]], *, aims: bool) -> Iterator[Row]:
    """The means of all splits; beside them what the own retrains alone would state."""

    def mean(figure: Callable[[Found], float]) -> tuple[float, Mapping[int, float]]:
        each = {split: float(np.mean([figure(found) for found in both])) for split, both in by_split.items()}
        return float(np.mean(list(each.values()))), each

    over, overs = mean(lambda found: float((found.share - found.accepted).mean()))
    own_over, _ = mean(lambda found: float((found.own_share - found.accepted).mean()))
    held, helds = mean(lambda found: float((found.bound <= found.accepted).mean()))
    own_held, _ = mean(lambda found: float((found.own_bound <= found.accepted).mean()))
    aim, least = (MOST_OVERSTATED, LEAST_HELD) if aims else (None, None)
    yield Row(f"stated share minus true share {title}", over, "share", own_over, aim, "lower", overs)
    yield Row(f"bound holds {title}", held, "share", own_held, least, by_seed=helds)
    for name, figure, own in (
        ("stated share", lambda found: found.share.mean(), lambda found: found.own_share.mean()),
        ("true share", lambda found: found.accepted.mean(), None),
        ("stated bound", lambda found: found.bound.mean(), lambda found: found.own_bound.mean()),
        (
            "distance of a program's stated share from the true one",
            lambda found: abs(found.share.mean() - found.accepted.mean()),
            lambda found: abs(found.own_share.mean() - found.accepted.mean()),
        ),
        ("seconds of training", lambda found: found.seconds, None),
    ):
        value, each = mean(figure)
        unit = "s" if name.startswith("seconds") else "share"
        yield Row(f"{name} {title}", value, unit, None if own is None else mean(own)[0], by_seed=each)


def _told(found: Sequence[Found]) -> str:
    return "; ".join(
        f"{len(each.share)} options, stated {each.share.mean():.3f}, true {each.accepted.mean():.3f}, "
        f"bound {each.bound.mean():.3f} holds {(each.bound <= each.accepted).mean():.3f}, {each.seconds:.0f} s"
        for each in found
    )


def _data_sets(folder: Path, data: Path | None, rows: int) -> Iterator[DataSet]:
    """Breast cancer, which comes with scikit-learn, and those whose files are there; at most so many rows of each."""
    file = folder / f"{BREAST}.csv"
    bunch = load_breast_cancer()
    lines = [
        [*map(str, row), str(label)] for row, label in zip(bunch.data.tolist(), bunch.target.tolist(), strict=True)
    ]
    _write(file, [*bunch.feature_names, "benign"], lines)
    files = {BREAST: file} | {name: data / each for name, each in FILES.items() if data and (data / each).is_file()}
    for name, path in files.items():
        with path.open(encoding="utf-8-sig", newline="") as stream:
            header, *lines = csv.reader(stream)
        chosen = np.sort(np.random.default_rng(0).permutation(len(lines))[:rows])
        some = [lines[row] for row in chosen.tolist()]
        _write(folder / f"{name}-rows.csv", header, some)
        text = spec_text(name).decode()
        (folder / f"{name}.yaml").write_text(text)
        spec = load_program_spec(folder / f"{name}.yaml").spec
        yield DataSet(name, header, some, text, read_table(folder / f"{name}-rows.csv", spec))


def _write(file: Path, header: Sequence[str], lines: Sequence[Sequence[str]]) -> None:
    with file.open("w", newline="") as stream:
        csv.writer(stream).writerows([header, *lines])

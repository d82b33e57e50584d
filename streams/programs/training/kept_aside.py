"""Programs trained on a part of the rows, held against models of rows that were kept aside.

Models of resamples of the own rows agree with each other more than models of other rows do. So the file is split: a
program is trained on one part exactly as on the whole file, with its retrains, and models of the other part are asked
about its options. What they say of options that so many certifying retrains accept is stated of such options later.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.model_selection import train_test_split

from ....agents.candidates import Proposals
from ....agents.goals import accepted
from ....agents.promises import Certified, accepting
from ....agents.scores import Score
from ....schemas.encoding import FeatureCodec
from ....schemas.spec import ProgramSpec
from ....schemas.table import Table
from ..bundle.retrains import retrain_of
from ..margin import goal_of
from ..models.scoring import score_of_options, scorer
from ..promised import measured_promise
from .fitting import fit
from .improvement import fit_improvement
from .retrains import fit_retrains
from .seeding import seeded
from .unlabelled_rows import others_beside
from .unsaved_program import UnsavedProgram, unsaved_program

Floats = NDArray[np.float64]
Indices = NDArray[np.intp]

HALVINGS = 4
"""How often the rows are halved at random. Each half is the program's once, and kept aside once."""
CUTS = (0.4, 0.5, 0.6, 0.7)
"""The shares of the rows that are earlier, where the rows are split by time."""
MODELS = 10
"""Models of the rows kept aside that each program's options are shown to."""
PEOPLE = 30
"""Rejected people who are looked at in each split."""
MOST_ROWS = 8000
"""Of more rows so many take part, drawn at random. Half of them fit hundreds of models."""
LARGEST_PART = 0.9
"""The share of the rows kept aside that a model is fitted on at most, so that the models differ."""
MARGINS = (0.0, 0.05, 0.1, 0.15, 0.2, 0.25, 0.3)
"""The plain margins of the score that are held against the promise, as far as a score can reach them."""
FEWEST_ROWS = 20
FEWEST = 4
"""Rows that a part needs, and of each label, to be split further."""


class Split(NamedTuple):
    """The rows of a program, and those that are kept aside."""

    used: Indices
    aside: Indices


class CheapestOptions(NamedTuple):
    """The cheapest option of each person who has one: the person's number, its cost, and the share of the models of
    the rows kept aside that accept it; all (n,)."""

    people: Indices
    cost: Floats
    accepted: Floats


class SplitTrial(NamedTuple):
    """The verdicts on the options of a program of one split.

    ``certified`` (n,) is how many certifying retrains accept each option, ``accepted`` (n,) the share of the ``models``
    models of rows kept aside. ``promised`` are the cheapest options under the promise, and ``plain`` those at each of
    ``MARGINS``.
    """

    certified: Indices
    accepted: Floats
    models: int
    promised: CheapestOptions
    plain: Sequence[CheapestOptions]


@dataclass(frozen=True)
class RepeatedTraining:
    """A training to repeat on parts of the rows: a kind of estimator, with ``retrains`` models of resamples."""

    codec: FeatureCodec
    table: Table
    estimator: Any
    retrains: int

    @cached_property
    def readable(self) -> Floats:
        """The rows (n, D) that models are fitted on."""
        return self.codec.readable(self.table.X)


def halvings(labels: NDArray[np.int64], random: np.random.RandomState) -> Iterator[Split]:
    """Random halves of the rows with labels (n,); each is the program's once.

    They are not stratified: other rows of the population have another share of each label too. Raises ``ValueError``
    where there are too few rows, or of one label.
    """
    if len(labels) < 2 * FEWEST_ROWS:
        raise ValueError(f"there are {len(labels)} rows, and it takes {2 * FEWEST_ROWS}")
    for _ in range(HALVINGS):
        rows = random.permutation(len(labels))[:MOST_ROWS]
        first, second = np.array_split(rows, 2)
        for part in (first, second):
            if (least := np.bincount(labels[part], minlength=2).min()) < FEWEST:
                raise ValueError(f"a half of them has {least} rows of one label, and it takes {FEWEST}")
        yield Split(first, second)
        yield Split(second, first)


def cuts(dates: Floats, labels: NDArray[np.int64], random: np.random.RandomState) -> list[Split]:
    """Earlier rows, with later ones kept aside, by ``dates`` (n,): rows of one date stay together.

    A cut that leaves too few rows, or of one label (n,), on a side is left out. Raises ``ValueError`` where all are.
    """
    rows = np.arange(len(dates))
    if len(rows) > MOST_ROWS:
        rows = np.sort(random.permutation(rows)[:MOST_ROWS])
    values, first = np.unique(np.sort(dates[rows]), return_index=True)
    splits: list[Split] = []
    places = {int(np.abs(first - share * len(rows)).argmin()) for share in CUTS}
    for place in sorted(places):
        earlier = dates[rows] < values[place]
        split = Split(rows[earlier], rows[~earlier])
        if all(len(part) >= FEWEST_ROWS and np.bincount(labels[part], minlength=2).min() >= FEWEST for part in split):
            splits.append(split)
    if len(splits) < 2:
        raise ValueError("too few rows of both labels lie before and after at least two dates")
    return splits


def trials(
    training: RepeatedTraining, splits: Iterable[Split], random: np.random.RandomState
) -> Iterator[SplitTrial | None]:
    """The trial of each split; None where it has nobody with an option.

    Raises ``ValueError`` where a label has too few rows.
    """
    for split in splits:
        yield _trial(training, split, random)


def _trial(training: RepeatedTraining, split: Split, random: np.random.RandomState) -> SplitTrial | None:
    codec, table, spec = training.codec, training.table, training.codec.spec
    X, labels = table.X, table.labels
    part, rest = _part(labels, split.used, len(split.used) // 2, random)
    fitted = _fitted(training, part, random)
    model = scorer(fitted, codec.dimension)
    retrains = fit_retrains(
        fitted, training.readable[split.used], labels[split.used], training.retrains, len(part), random
    )
    promise = measured_promise(spec.promise, model, retrains)
    assert isinstance(promise, Certified), f"{spec.promise.kind} states no share"
    size = min(len(part), int(LARGEST_PART * len(split.aside)))
    others = [
        retrain_of(_fitted(training, _part(labels, split.aside, size, random)[0], random), codec.dimension).score
        for _ in range(MODELS)
    ]
    approved = accepted(model.score(X[rest]), spec.model.threshold)
    people = X[rest[~approved]][:PEOPLE]
    instances = [row for row in rest[approved].tolist() if codec.violated_constraint(table.rows[row]) is None]
    if not len(people) or not instances:
        return None
    improvement = fit_improvement(spec, X[part], labels[part], 0, others_beside(table, len(part)))
    kept, reference = ([table.rows[row] for row in rows] for rows in (instances[: spec.candidates], part))
    return _asked(spec, unsaved_program(codec, model.score, kept, reference, improvement), promise, people, others)


def _asked(
    spec: ProgramSpec, unsaved: UnsavedProgram, promise: Certified, people: Floats, others: Sequence[Score]
) -> SplitTrial | None:
    """Show the options of people (n, D) to other models."""
    score, required = score_of_options(unsaved.score), unsaved.threshold

    def proposed(under: Score, margin: float) -> Proposals:
        return unsaved.vetting_under(under, goal_of(spec, margin)).propose(people)

    def cheapest(proposals: Proposals) -> CheapestOptions:
        owner, targets = unsaved.best_options(proposals, people, 1)
        costs = unsaved.objective.costs(targets, people, owner)
        return CheapestOptions(owner, costs, accepting(targets, others, required))

    promised = proposed(promise.robust(score), spec.promise.margin)
    if not len(promised.people):
        return None
    _, targets = unsaved.best_options(promised, people, spec.policy.options)
    return SplitTrial(
        promise.certified(targets, required),
        accepting(targets, others, required),
        len(others),
        cheapest(promised),
        [cheapest(proposed(score, margin)) for margin in MARGINS if required + margin < 1.0],
    )


def _fitted(training: RepeatedTraining, rows: Indices, random: np.random.RandomState) -> Any:
    estimator = seeded(clone(training.estimator), random.randint(2**31 - 1))
    return fit(estimator, training.readable[rows], training.table.labels[rows])


def _part(
    labels: NDArray[np.int64], rows: Indices, size: int, random: np.random.RandomState
) -> tuple[Indices, Indices]:
    """So many of the rows, stratified by label, and the others."""
    part, others = train_test_split(rows, train_size=size, stratify=labels[rows], random_state=random)
    return part, others

"""Which rows the retrains of a promise should be resamples of: what they say, held against models of other rows."""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression

from onward.agents.candidates import registry
from onward.agents.candidates.contract import Score
from onward.agents.costs import L1
from onward.agents.goals import ThresholdGoal
from onward.agents.objective import Objective
from onward.agents.promises import (
    EllipsoidPromise,
    EnsembleScore,
    LpPromise,
    Promise,
    accepting,
    clopper_pearson,
    drift_ellipsoid,
    drift_radius,
)
from onward.agents.scores import LinearScore
from onward.benchmarks.face import Row, progress
from onward.benchmarks.recourse.cases import POPULATION, Options, Source, cheapest, sources
from onward.benchmarks.robustness.screened_score import ScreenedScore
from onward.environments.population import Population
from onward.schemas.table import Table
from onward.streams.programs.bundle.retrains import retrain_of
from onward.streams.programs.space import space_of
from onward.streams.programs.training.retrains import SHARE, refitted

Floats = NDArray[np.float64]

THRESHOLD = 0.5
QUANTILE = 0.95
KINDS: Mapping[str, Any] = {
    "logistic": LogisticRegression(max_iter=1000),
    "forest": RandomForestClassifier(100),
}


class Design(NamedTuple):
    """From which share of a file's rows on resamples are drawn, and their size as one of that of the training half."""

    start: float
    size: float


DESIGNS: Mapping[str, Design] = {
    "the other half": Design(0.5, 1.0),
    "all rows": Design(0.0, 1.0),
    "two thirds of all": Design(0.0, SHARE),
}


class File(NamedTuple):
    """A file of rows, a model of its first half, people of the other whom it rejects, and models of other rows."""

    source: Source
    X: Floats
    labels: NDArray[np.int64]
    estimator: Any
    score: Score
    people: Floats
    later: Sequence[Score]


def resamples(
    data: Path | None, people: int, retrains: int, rows: int, delta: float, seeds: Iterable[int]
) -> Iterator[Row]:
    """The figures of each data set, kind of model and design: means over the seeds, each with another file of ``rows``.

    ``retrains`` choose options, as many certify them, and as many later models of other rows are asked.
    """
    names = ("credit",) if data is not None and (data / "credit.csv").is_file() else ()
    for source in sources(data, names, 0):
        for kind in KINDS:
            found: dict[tuple[str, str], dict[int, float]] = defaultdict(dict)
            for seed in seeds:
                progress(f"{source.name}, {kind}, seed {seed}")
                file = _file(source, kind, people, retrains, rows, seed)
                for design, terms in DESIGNS.items():
                    for figure, value in _figures(file, terms, retrains, delta, seed).items():
                        found[design, figure][seed] = value
            for (design, figure), by_seed in found.items():
                unit = "ms" if figure.startswith("search") else "l1" if figure.endswith("cost") else "share"
                mean = float(np.mean(list(by_seed.values())))
                yield Row(f"{source.name}, {kind}, {design}: {figure}", mean, unit, by_seed=by_seed)


def _file(source: Source, kind: str, people: int, later: int, rows: int, seed: int) -> File:
    half, random = rows // 2, np.random.default_rng(seed)
    table = _table(source, rows + later * half, seed)
    order = random.permutation(len(table.X))
    later = min(later, (len(order) - rows) // half)
    parts = [order[rows + number * half : rows + (number + 1) * half] for number in range(later)]
    estimators = [
        clone(KINDS[kind]).set_params(random_state=number).fit(table.X[part], table.labels[part])
        for number, part in enumerate([order[:half], *parts])
    ]
    score, *others = (retrain_of(estimator, table.X.shape[1]).score for estimator in estimators)
    rest, own = table.X[order[half:rows]], order[:rows]
    rejected = rest[score(rest) <= THRESHOLD][:people]
    return File(source, table.X[own], table.labels[own], estimators[0], score, rejected, others)


def _table(source: Source, size: int, seed: int) -> Table:
    """The rows of a source; the generated population is drawn again for each seed."""
    if source.name == POPULATION:
        return Population(seed=100 + seed).table(source.codec.spec, size)
    return source.table


def _figures(file: File, design: Design, retrains: int, delta: float, seed: int) -> Mapping[str, float]:
    """What the retrains of a design say, and what the later models say of the same options."""
    start, size = round(design.start * len(file.X)), round(design.size * (len(file.X) // 2))
    fits = refitted(file.estimator, file.X[start:], file.labels[start:], size, np.random.RandomState(seed))
    scores = [retrain_of(next(fits), file.X.shape[1]).score for _ in range(2 * retrains)]
    choosing, certifying = scores[::2], scores[1::2]
    facts = {"search, own score, ms a person": _search_ms(file, file.score)}
    ensemble = EnsembleScore(file.score, choosing, delta)
    facts["search, choosing retrains, ms a person"] = _search_ms(file, ensemble)
    screened = ScreenedScore(file.score, choosing, delta, THRESHOLD)
    facts["search, screened, ms a person"] = _search_ms(file, screened)
    facts["no promise, later"] = _later(file, _proposed(file, file.score))
    found, dearer = _proposed(file, ensemble), _proposed(file, screened)
    facts |= {"retrains, served": _served(file, found), "retrains, screened, served": _served(file, dearer)}
    if len(found.people):
        share = accepting(found.targets, certifying, THRESHOLD)
        bounds = np.array([clopper_pearson(round(each * retrains), retrains) for each in share.tolist()])
        facts["retrains, certified"] = float(share.mean())
        facts["retrains, later"] = _later(file, found)
        held = bounds <= accepting(found.targets, file.later, THRESHOLD)
        facts["retrains, bound at most later"] = float(held.mean())
        facts["retrains, cost"] = float(found.cost.mean())
    if len(dearer.people):
        facts["retrains, screened, cost"] = float(dearer.cost.mean())
    return facts | _linear(file, [score for score in scores if isinstance(score, LinearScore)])


def _linear(file: File, scores: Sequence[LinearScore]) -> dict[str, float]:
    """The same of the ball and the ellipsoid; nothing where scores are not linear."""
    centre = file.score
    if not scores or not isinstance(centre, LinearScore):
        return {}
    weights, bias = np.array([each.weights for each in scores]), np.array([each.bias for each in scores])
    ball, ellipsoid = LpPromise(norm=2), EllipsoidPromise()
    ball.equip(radius=drift_radius(centre, weights, bias, 2, QUANTILE))
    shape = drift_ellipsoid(centre, weights, bias, QUANTILE)
    ellipsoid.equip(covariance=shape.covariance, radius=shape.radius)
    later = [each for each in file.later if isinstance(each, LinearScore)]
    moved = np.array([[*(each.weights - centre.weights), each.bias - centre.bias] for each in later])
    distance = np.sqrt((moved * np.linalg.solve(shape.covariance, moved.T).T).sum(axis=1))
    drift = ball.models.drift(moved[:, :-1], moved[:, -1])
    facts = {
        "lp, later within": float((drift <= ball.models.radius).mean()),
        "ellipsoid, later within": float((distance <= shape.radius).mean()),
    }
    for name, promise in (("lp", ball), ("ellipsoid", ellipsoid)):
        facts |= _promised(file, name, promise)
    return facts


def _promised(file: File, name: str, promise: Promise) -> dict[str, float]:
    found = _proposed(file, promise.robust(file.score))
    facts = {f"{name}, served": _served(file, found)}
    return facts | ({f"{name}, later": _later(file, found)} if len(found.people) else {})


def _proposed(file: File, score: Score) -> Options:
    """The cheapest option of each person who has one, by the search on a score."""
    codec = file.source.codec
    build = registry["search"].build(space_of(codec), file.people[:0], Objective(L1()))
    whose, _, points, point = build.under(score, ThresholdGoal(THRESHOLD)).propose(file.people)
    return cheapest(codec, file.people, whose, points[point])


def _search_ms(file: File, score: Score) -> float:
    """The median processor time of a search for one person."""
    search = registry["search"].build(space_of(file.source.codec), file.people[:0], Objective(L1()))
    generator = search.under(score, ThresholdGoal(THRESHOLD))
    generator.propose(file.people[:1])
    taken = []
    for person in file.people[:, np.newaxis]:
        start = time.process_time()
        generator.propose(person)
        taken.append(1000.0 * (time.process_time() - start))
    return float(np.median(taken))


def _later(file: File, found: Options) -> float:
    return float(accepting(found.targets, file.later, THRESHOLD).mean())


def _served(file: File, found: Options) -> float:
    return len(found.people) / len(file.people)

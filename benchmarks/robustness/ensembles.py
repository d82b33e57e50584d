"""Retrain ensembles for forests and boosters, beside a plain margin of the score at equal validity."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from onward.agents.candidates import registry
from onward.agents.candidates.contract import Score
from onward.agents.costs import L1
from onward.agents.goals import ThresholdGoal
from onward.agents.objective import Objective
from onward.agents.promises import EnsembleScore, accepting, clopper_pearson
from onward.benchmarks.face import Row, progress
from onward.benchmarks.recourse.cases import MODELS, Options, Source, cheapest, sources
from onward.schemas.table import read_table
from onward.streams.programs.models.scoring import scorer
from onward.streams.programs.space import space_of

Floats = NDArray[np.float64]

THRESHOLD = 0.5
MARGINS = np.arange(0.0, 0.46, 0.01)
CORRECTED = "corrected_german"


class Models(NamedTuple):
    """A model, the people it turns down, and retrains: to choose by, to certify by, held out, and of later data."""

    title: str
    source: Source
    score: Score
    people: Floats
    choosing: Sequence[Score]
    certifying: Sequence[Score]
    held_out: Sequence[Score]
    later: Sequence[Score]


def ensembles(data: Path | None, people: int, retrains: int, rows: int, delta: float, seed: int) -> Iterator[Row]:
    """All figures, for the generated population and German, with forest and booster."""
    names = () if data is None else ("german",)
    for source in sources(data, names, seed):
        for model in ("forest", "booster"):
            yield from _compared(_models(source, model, data, people, retrains, rows, seed), delta)


def _models(source: Source, model: str, data: Path | None, people: int, retrains: int, rows: int, seed: int) -> Models:
    """A model of a third of the rows. Retrains are of resamples of the second third, later ones of the last."""
    random, table = np.random.default_rng(seed), source.table
    own, second, last = np.array_split(random.permutation(len(table.X))[:rows], 3)
    progress(f"{source.name}, {model}: {4 * retrains} retrains")
    estimator = MODELS[model](seed).fit(table.X[own], table.labels[own])
    score = scorer(estimator, source.codec.dimension).score
    choosing, certifying, held_out = (
        _resampled(estimator, table.X[second], table.labels[second], retrains, random) for _ in range(3)
    )
    later_X, later_y = table.X[last], table.labels[last]
    if data is not None and source.name == "german":
        later = read_table(data / f"{CORRECTED}.csv", source.codec.spec)
        later_X, later_y = later.X, later.labels
    rejected = table.X[last][score(table.X[last]) <= THRESHOLD][:people]
    title = f"{source.name}, {model}"
    later_models = _resampled(estimator, later_X, later_y, retrains, random)
    return Models(title, source, score, rejected, choosing, certifying, held_out, later_models)


def _resampled(
    estimator: Any, X: Floats, y: NDArray[np.int64], count: int, random: np.random.Generator
) -> Sequence[Score]:
    """The scores of models of bootstrap resamples of the rows (n, D) and (n,)."""
    scores = []
    for _ in range(count):
        rows = random.integers(len(X), size=len(X))
        model = clone(estimator).set_params(random_state=int(random.integers(2**31)))
        scores.append(scorer(model.fit(X[rows], y[rows]), X.shape[1]).score)
    return scores


def _proposed(models: Models, score: Score, margin: float = 0.0) -> Options:
    """The cheapest option of each person who has one, by the search on a score."""
    codec = models.source.codec
    build = registry["search"].build(space_of(codec), models.people[:0], Objective(L1()))
    whose, _, points, point = build.under(score, ThresholdGoal(THRESHOLD, margin)).propose(models.people)
    return cheapest(codec, models.people, whose, points[point])


def _compared(models: Models, delta: float) -> Iterator[Row]:
    """The ensemble's options, and those of the smallest margin of the score that are as valid under held-out models."""
    title = f"{models.title}, delta={delta:g}"
    ensemble = EnsembleScore(models.score, models.choosing, delta)
    found = _proposed(models, ensemble)
    certified = accepting(found.targets, models.certifying, THRESHOLD)
    by_model = _by_model(found, models.held_out)
    valid, error = float(by_model.mean()), float(by_model.std(ddof=1) / math.sqrt(len(by_model)))
    other_error = float(_by_model(found, models.certifying).std(ddof=1) / math.sqrt(len(models.certifying)))
    progress(f"{title}: cost {found.cost.mean():.4f}, valid {valid:.3f}")
    beside = _margin_as_valid(models, valid)
    both, mine, theirs = np.intersect1d(found.people, beside.people, return_indices=True)
    least = float(certified.mean()) - 2.0 * math.hypot(error, other_error)
    trials = len(models.certifying)
    bounds = np.array([clopper_pearson(round(share * trials), trials) for share in certified.tolist()])
    held = accepting(found.targets, models.held_out, THRESHOLD)
    yield Row(
        f"{title}, valid when chosen", float(accepting(found.targets, models.choosing, THRESHOLD).mean()), "share"
    )
    yield Row(f"{title}, valid when certified", float(certified.mean()), "share")
    yield Row(f"{title}, valid held out", valid, "share", float(certified.mean()), least)
    yield Row(f"{title}, bound below held-out validity", float((bounds <= held).mean()), "share", None, 0.95)
    yield Row(
        f"{title}, valid later", float(_by_model(found, models.later).mean()), "share", _share(beside, models.later)
    )
    yield Row(
        f"{title}, served", len(found.people) / len(models.people), "share", len(beside.people) / len(models.people)
    )
    if len(both):
        cost, margin_cost = float(found.cost[mine].mean()), float(beside.cost[theirs].mean())
        reached = _share(beside, models.held_out)
        name, aim = ("a margin as valid", margin_cost) if reached >= valid else ("the most valid margin", None)
        yield Row(f"{title}, cost beside {name}", cost, "l1", margin_cost, aim, "lower")
        yield Row(f"{title}, validity of that margin", reached, "share", valid)


def _by_model(found: Options, retrains: Sequence[Score]) -> Floats:
    """The share of the options that each retrain accepts, (B,)."""
    return np.array([np.greater(score(found.targets), THRESHOLD).mean() for score in retrains])


def _share(found: Options, retrains: Sequence[Score]) -> float:
    return float(_by_model(found, retrains).mean()) if len(found.people) else math.nan


def _margin_as_valid(models: Models, valid: float) -> Options:
    """The options of the smallest margin that are at least as valid; of the most valid margin where none is."""
    best, share = _proposed(models, models.score), -1.0
    for margin in MARGINS.tolist():
        found = _proposed(models, models.score, margin)
        if not len(found.people):
            break
        reached = _share(found, models.held_out)
        if reached > share:
            best, share = found, reached
        if share >= valid:
            break
    return best

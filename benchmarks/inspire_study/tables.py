"""The tables of the paper."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Mapping
from functools import cached_property
from pathlib import Path
from typing import Any, Literal

import numpy as np
from sklearn.linear_model import LogisticRegression
from sklearn.neural_network import MLPClassifier

from onward.benchmarks.face import Row, progress

from .data import DataSet, Network
from .methods import OURS, POOL, SIZE, corrections, dice, local_searches, ours, peers, pool, searches, subjects
from .metrics import THRESHOLDS, summary
from .play import Played, play

METRICS: Mapping[str, str] = {
    "FS@1": "%",
    "PAC": "cost",
    "Cov": "%",
    "Div": "%",
    "Prox": "%",
    "Spars": "%",
    "Val": "%",
    "EMC": "cost",
}
Figures = Mapping[str, Mapping[str, tuple[float, float]]]
"""Means and standard errors, by method and metric."""
LOWER = frozenset({"PAC", "EMC"})
STORED = {"EMC": "EMC_cap_d", "FS@1": "FS_at_1"}
GROUPS = (
    (4, "sex", "Male", "Female"),
    (6, "race", "White", "Non-White"),
    (6, "race", "Other", "African-American"),
)
"""The groups of tables 4 and 6, where a data set has them: DIR is the first one's figure by the second one's."""
PUBLISHED: Mapping[str, Mapping[str, float]] = {
    "adult": {"FS@1": 22.64, "Cov": 19.28},
    "compas": {"FS@1": 25.89, "Cov": 22.42},
}
"""Points that the better one of COLS and P-COLS is above AR, the strongest other method there (section 4.2, Q1)."""
PUBLISHED_ABOVE_LOCAL_SEARCH = {"adult": 19.0}
"""Points of FS@1 that COLS is above local search on EMC (section 4.2, Q2)."""
STRONGEST = "AR"
SEARCHES = ("COLS", "P-COLS")
MOST_BELOW_POOL = {"adult": 2.0, "compas": 0.5}
"""Points that the sets may serve fewer people than all valid rows of a large pool."""
WITHIN = 2.0
"""Standard errors that the stored results may be away."""
ABLATION_BUDGET = 3000
HIDDEN_UNITS = 20


class Study:
    """One data set: what its methods did to its people, played once for all tables.

    ``stored`` are the reference results of the data set. ``fewer`` is the number of people whom methods that take long
    serve, and all methods where many settings are played.
    """

    def __init__(self, data: DataSet, stored: Mapping[str, Any], seed: int, fewer: int) -> None:
        self.data, self.stored, self.seed = data, stored, seed
        self.few = data.people[:fewer]

    @cached_property
    def played(self) -> tuple[Played, dict[str, float]]:
        """Table 1: every method on every person."""
        data, people = self.data, self.data.people
        progress(f"{data.name}: table 1, {len(people)} people")
        methods = searches(data) | peers(data, people) | dice(data, people) | ours(data, people)
        return play(data, subjects(data, people, self.seed), methods, seed=self.seed)


def stored_results(folder: Path) -> Mapping[str, Any]:
    """The reference results, by data set; empty where there are none."""
    file = folder / "results.json"
    return dict(json.loads(file.read_bytes())) if file.is_file() else {}


def table_1(study: Study) -> Iterator[Row]:
    """All measures of all methods, and how far COLS and P-COLS are from the stored results."""
    (played, seconds), name = study.played, study.data.name
    figures = {method: summary(measures) for method, measures in played.items()}
    for method, found in figures.items():
        stored = study.stored.get(method, {})
        yield from _measures("", name, method, found, {key: stored.get(STORED.get(key, key)) for key in METRICS})
        yield Row(f"time {name} {method}", 1e3 * seconds[method], "ms a person", better="lower")
    for method in SEARCHES:
        if method in study.stored:
            yield from _agreement(name, method, figures[method], study.stored[method])
    for metric, published in PUBLISHED[name].items():
        above = max(figures[method][metric][0] for method in SEARCHES) - figures[STRONGEST][metric][0]
        title = f"{metric} {name} of the better COLS above {STRONGEST} (published)"
        yield Row(title, above, "points", reference=published)


def bounds(study: Study) -> Iterator[Row]:
    """COLS without the errors of its code, and what a large pool of valid rows would give, on fewer people."""
    data, few, name = study.data, study.few, study.data.name
    title = f"{len(few)} people, "
    progress(f"{name}: COLS corrected and the pool, {len(few)} people")
    methods = searches(data) | corrections(data) | ours(data, few) | pool(data) | pool(data, SIZE)
    played, seconds = play(data, subjects(data, few, study.seed), methods, seed=study.seed)
    figures = {method: summary(measures) for method, measures in played.items()}
    for method, found in figures.items():
        # A pool has no size that its valid rows could be divided by.
        yield from _measures(title, name, method, found, {}, METRICS.keys() - ({"Val"} if method == POOL else set()))
        yield Row(f"{title}time {name} {method}", 1e3 * seconds[method], "ms a person", better="lower")
    whole, mine = figures[POOL], figures[OURS]
    for metric in ("FS@1", "Cov"):
        missing = whole[metric][0] - mine[metric][0]
        title_of = f"{title}{metric} {name} below the whole pool"
        yield Row(title_of, missing, "points", aim=MOST_BELOW_POOL[name], better="lower")


def _measures(
    title: str,
    name: str,
    method: str,
    figures: Mapping[str, tuple[float, float]],
    references: Mapping[str, float | None],
    metrics: Collection[str] = METRICS.keys(),
) -> Iterator[Row]:
    """The means of some metrics of a method."""
    for metric, unit in METRICS.items():
        if metric in metrics:
            better: Literal["lower", "higher"] = "lower" if metric in LOWER else "higher"
            value, reference = figures[metric][0], references.get(metric)
            yield Row(f"{title}{metric} {name} {method}", value, unit, reference=reference, better=better)


def _agreement(
    name: str, method: str, figures: Mapping[str, tuple[float, float]], stored: Mapping[str, float]
) -> Iterator[Row]:
    """The differences from the stored results, in standard errors of their difference over people.

    Those that were stored without a standard error have that of the figure itself.
    """
    for metric in METRICS:
        own, error = figures[metric]
        key = STORED.get(metric, metric)
        apart = abs(own - stored[key]) / float(np.hypot(error, stored.get(f"{key}_se", error)))
        yield Row(f"{metric} {name} {method} from the reference", apart, "s.e.", aim=WITHIN, better="lower")


def table_2(study: Study) -> Iterator[Row]:
    """Local search on each objective, beside COLS and Onward with the same budget."""
    data, few = study.data, study.few
    progress(f"{data.name}: table 2, {len(few)} people")
    methods = local_searches(data, ABLATION_BUDGET) | searches(data, budget=ABLATION_BUDGET) | ours(data, few)
    played, _ = play(data, subjects(data, few, study.seed), methods, seed=study.seed)
    title = f"table 2, {len(few)} people, "
    for method, measures in played.items():
        yield from _measures(title, data.name, method, summary(measures), {})
    cols, local = (summary(played[method])["FS@1"][0] for method in ("COLS", "local search, EMC"))
    published = PUBLISHED_ABOVE_LOCAL_SEARCH.get(data.name)
    source = " (published)" if published else ""
    yield Row(
        f"{title}FS@1 {data.name} of COLS above local search{source}", cols - local, "points", reference=published
    )


def tables_4_and_6(study: Study) -> Iterator[Row]:
    """The disparate impact ratio (DIR) of FS@1 and Cov, by sex and race."""
    (played, _), data = study.played, study.data
    numbers = {feature.name: number for number, feature in enumerate(data.features)}
    for table, name, *pair in GROUPS:
        texts = data.features[numbers[name]].texts
        if not set(pair) <= set(texts):
            continue
        groups = [data.people[:, numbers[name]] == texts.index(text) for text in pair]
        if not all(group.any() for group in groups):
            progress(f"{data.name}: table {table} by {name} is left out: one of the groups has nobody")
            continue
        for method, measures in played.items():
            columns = {
                "FS@1": np.array([one.satisfied[THRESHOLDS.index(1.0)] for one in measures]),
                "Cov": np.array([one.covered for one in measures]),
            }
            for metric, column in columns.items():
                first, second = (column[group].mean() for group in groups)
                ratio = float(first / second) if second else float("nan")
                yield Row(f"table {table}, DIR-{metric} {data.name} by {name}, {method}", ratio, "ratio", reference=1.0)


def tables_9_and_10(study: Study) -> Iterator[Row]:
    """Another network of the same sort, and a logistic regression."""
    for number, title, network in ((9, "another seed", _another_network), (10, "logistic regression", _logistic)):
        data = study.data._replace(network=network(study.data))
        chosen = data.rejected(data.people)[: len(study.few)]
        progress(f"{data.name}: {title}, {len(chosen)} people")
        methods = searches(data) | peers(data, chosen) | dice(data, chosen) | ours(data, chosen)
        played, _ = play(data, subjects(data, chosen, study.seed), methods, seed=study.seed)
        for method, measures in played.items():
            yield from _measures(
                f"table {number}, {title}, {len(chosen)} people, ", data.name, method, summary(measures), {}
            )


def table_11(study: Study) -> Iterator[Row]:
    """FS@k for every k."""
    for method, measures in study.played[0].items():
        for threshold in THRESHOLDS:
            name = f"FS@{threshold:g}"
            value = summary(measures, threshold)[name][0]
            yield Row(f"table 11, {name} {study.data.name} {method}", value, "%")


def _another_network(data: DataSet) -> Network:
    """A network of the same size from another seed."""
    low, width = data.network.low, data.network.width
    rows, labels = data.train
    fitted = MLPClassifier((HIDDEN_UNITS,), max_iter=200, random_state=1).fit((rows - low) / width, labels)
    (first, second), (bias, last) = fitted.coefs_, fitted.intercepts_
    output = np.concatenate([np.zeros((1, HIDDEN_UNITS)), second.T])
    return Network(low, width, (first.T, bias), (output, np.array([0.0, last[0]])))


def _logistic(data: DataSet) -> Network:
    """A logistic regression, as a network of two units: what is above 0, and what is below."""
    low, width = data.network.low, data.network.width
    rows, labels = data.train
    fitted = LogisticRegression(max_iter=2000).fit((rows - low) / width, labels)
    weights, bias = fitted.coef_[0], fitted.intercept_.item()
    hidden = np.stack([weights, -weights]), np.array([bias, -bias])
    return Network(low, width, hidden, (np.array([[0.0, 0.0], [1.0, -1.0]]), np.zeros(2)))

"""The tables of the paper."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.linear_model import LogisticRegression
from sklearn.neural_network import MLPClassifier

from onward.benchmarks.face import Row, progress

from .data import DataSet, Network
from .methods import OURS, POOL, corrections, local_searches, ours, peers, pool, searches, subjects
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
LOWER = frozenset({"PAC", "EMC"})
STORED = {"EMC": "EMC_cap_d", "FS@1": "FS_at_1"}
GROUPS = {"sex": ("Male", "Female"), "race": ("White", "Non-White")}
"""The groups of tables 4 and 6: DIR is the first one's figure by the second one's."""
WITHIN = 2.0
"""Standard errors that the stored results may be away."""
ABLATION_BUDGET = 3000
HIDDEN_UNITS = 20


class Study:
    """One data set: what its methods did to its people, played once for all tables.

    ``stored`` are the reference results of the data set.
    """

    def __init__(self, data: DataSet, stored: Mapping[str, Any], seed: int) -> None:
        self.data, self.stored, self._seed = data, stored, seed

    @cached_property
    def played(self) -> tuple[Played, dict[str, float]]:
        """Table 1: every method on every person."""
        data, people = self.data, self.data.people
        progress(f"{data.name}: table 1")
        methods = searches(data) | corrections(data) | peers(data, people) | ours(data, people)
        methods |= pool(data)
        methods |= pool(data, 10)
        return play(data, subjects(data, people, self._seed), methods, seed=self._seed)


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
        for metric, unit in METRICS.items():
            if (metric, method) == ("Val", POOL):
                continue  # a pool has no size
            better = "lower" if metric in LOWER else "higher"
            reference = stored.get(STORED.get(metric, metric))
            yield Row(f"{metric} {name} {method}", found[metric][0], unit, reference=reference, better=better)  # type: ignore[arg-type]
        yield Row(f"time {name} {method}", 1e3 * seconds[method], "ms a person", better="lower")
    for method in ("COLS", "P-COLS"):
        if method in study.stored:
            yield from _agreement(name, method, figures[method], study.stored[method])
    whole, mine = figures[POOL], figures[OURS]
    for metric in ("FS@1", "Cov"):
        allowed = 2.0 if name == "adult" else 0.5
        missing = whole[metric][0] - mine[metric][0]
        yield Row(f"{metric} {name} below the whole pool", missing, "points", aim=allowed, better="lower")


def _agreement(
    name: str, method: str, figures: Mapping[str, tuple[float, float]], stored: Mapping[str, float]
) -> Iterator[Row]:
    """The differences from the stored results, in standard errors of their difference over people."""
    for metric in ("FS@1", "Cov", "EMC"):
        own, error = figures[metric]
        key = STORED.get(metric, metric)
        apart = abs(own - stored[key]) / float(np.hypot(error, stored[f"{key}_se"]))
        yield Row(f"{metric} {name} {method} from the reference", apart, "s.e.", aim=WITHIN, better="lower")


def table_2(study: Study, people: int) -> Iterator[Row]:
    """Local search on each objective, beside COLS and Onward with the same budget."""
    data = study.data
    progress(f"{data.name}: table 2")
    chosen = data.people[:people]
    methods = local_searches(data, ABLATION_BUDGET) | searches(data, budget=ABLATION_BUDGET) | ours(data, chosen)
    played, _ = play(data, subjects(data, chosen, study._seed), methods, seed=study._seed)
    for method, measures in played.items():
        figures = summary(measures)
        for metric in METRICS:
            yield Row(f"table 2, {metric} {data.name} {method}", figures[metric][0], METRICS[metric])


def tables_4_and_6(study: Study) -> Iterator[Row]:
    """The disparate impact ratio (DIR) of FS@1 and Cov, by sex and race."""
    (played, _), data = study.played, study.data
    for number, feature in enumerate(data.features):
        if feature.name not in GROUPS or not set(GROUPS[feature.name]) <= set(feature.texts):
            continue
        groups = [data.people[:, number] == feature.texts.index(text) for text in GROUPS[feature.name]]
        for method, measures in played.items():
            columns = {
                "FS@1": np.array([one.satisfied[THRESHOLDS.index(1.0)] for one in measures]),
                "Cov": np.array([one.covered for one in measures]),
            }
            for metric, column in columns.items():
                first, second = (column[group].mean() for group in groups)
                ratio = float(first / second) if second else float("nan")
                yield Row(f"DIR-{metric} {data.name} by {feature.name}, {method}", ratio, "ratio", reference=1.0)


def tables_9_and_10(study: Study, people: int) -> Iterator[Row]:
    """Another network of the same sort, and a logistic regression."""
    for title, network in (("another seed", _another_network), ("logistic regression", _logistic)):
        progress(f"{study.data.name}: {title}")
        model = network(study.data)
        data = study.data._replace(network=model)
        chosen = data.rejected(data.people)[:people]
        methods = searches(data) | peers(data, chosen) | ours(data, chosen)
        played, _ = play(data, subjects(data, chosen, study._seed), methods, seed=study._seed)
        for method, measures in played.items():
            figures = summary(measures)
            for metric in METRICS:
                yield Row(f"{title}, {metric} {data.name} {method}", figures[metric][0], METRICS[metric])


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

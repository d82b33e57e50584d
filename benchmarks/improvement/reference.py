"""The reference results: what the authors stored, their code run again, and LinUCB on the stored draws.

They are read from the folder ``reference/arlim`` of the shared data, whose README explains each row.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

from onward.benchmarks.improvement.methods import Method
from onward.benchmarks.improvement.scores import Spread, spread

ROUNDS = 1000
"""The rounds of all of them."""

PRINTED, COMMON = "printed", "common draws"

_NAMES = MappingProxyType(
    {"protoar": "ProtoAR", "tap": "TAP", "linucb": "LinUCB", "bwo_ucb": "BwOUCB", "gp_ucb": "CGPUCB"}
)
_IGNORES_EXECUTION = {"BwOUCB", "CGPUCB"}
"""Methods that never see the execution probability, so that their rows hold whatever its noise is."""

_METRICS = MappingProxyType(
    {
        "improvement": "improvement",
        "cost": "cost",
        "mer": "MER",
        "regret": "regret",
        "mer_250": "MER_250",
        "last250": "last250",
    }
)
_DELTA = 0.05
_LAMBDAS = (20.0, 30.0)


class Cited(NamedTuple):
    """One reference row: its source, its number of worlds, and its metrics."""

    source: str
    n: int
    metrics: Mapping[str, Spread]
    same_draws: bool = False
    """Whether it is of the same worlds and draws as the result beside it."""


class Reference:
    """All reference rows; none without the shared data."""

    def __init__(self, rows: Mapping[str, Sequence[Mapping[str, Any]]]) -> None:
        self._printed = rows.get("authors_stored_results", ())
        self._rerun = rows.get("rerun", ())
        self._single = rows.get("per_seed_rf_0_to_4", ())

    def cite(self, title: str, classifier: str, noise: float, method: Method, seeds: range) -> list[Cited]:
        """The rows of a method on a data set of this title. Rows on the common draws are of the same seeds."""
        name, regularisation = _NAMES.get(method.choice.name), method.parameter("regularisation")
        if name is None or (name == "LinUCB" and not _same_linucb(method)):
            return []
        if name in _IGNORES_EXECUTION:
            noise = 0.0
        wanted = {"dataset": title, "classifier": classifier, "noise": noise, "method": name}
        common = {"method": f"LinUCB lambda={regularisation:g} (common draws)"} if name == "LinUCB" else {}
        known = {"lambda": regularisation}
        found = [
            *(_cited(PRINTED, row) for row in _matching(self._printed, wanted | known)),
            *(_cited("run again", row) for row in _matching(self._rerun, wanted | known)),
        ]
        if common and classifier == "rf":
            found += self._of_same_seeds({"dataset": title, "noise": noise} | common, seeds)
        if common and not any(row.same_draws for row in found):
            named = {"seeds": f"{seeds[0]}-{seeds[-1]}"}
            found += [_cited(COMMON, row) for row in _matching(self._rerun, wanted | common | named)]
        return found

    def _of_same_seeds(self, wanted: Mapping[str, Any], seeds: range) -> list[Cited]:
        rows = [row for row in _matching(self._single, wanted) if row["seed"] in seeds]
        if {row["seed"] for row in rows} != set(seeds):
            return []
        metrics = {name: spread([row[key] for row in rows]) for name, key in _METRICS.items() if key in rows[0]}
        return [Cited(COMMON, len(rows), metrics, same_draws=True)]


def load_reference() -> Reference:
    """The stored results beside the shared data (``ONWARD_SHARED``), or nothing."""
    shared = Path(os.environ.get("ONWARD_SHARED", Path(__file__).parents[2].parent / "shared"))
    path = shared / "reference" / "arlim" / "results.json"
    return Reference(json.loads(path.read_text()) if path.is_file() else {})


def _same_linucb(method: Method) -> bool:
    return method.parameter("delta") == _DELTA and method.parameter("regularisation") in _LAMBDAS


def _matching(rows: Sequence[Mapping[str, Any]], wanted: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    return (row for row in rows if all(row.get(name) == value for name, value in wanted.items()))


def _cited(source: str, row: Mapping[str, Any]) -> Cited:
    n = row["n"]
    metrics = {name: Spread(row[key], row[f"{key}_std"], n) for name, key in _METRICS.items() if key in row}
    if source == PRINTED and row["method"] == "TAP":
        del metrics["regret"]  # the authors' oracle is limited to what TAP trusts
    return Cited(source, n, metrics, same_draws=source == COMMON)

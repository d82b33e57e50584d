"""Everything that the engine counts is shown."""

from __future__ import annotations

import ast
from collections import Counter
from pathlib import Path

import pytest
from prometheus_client.parser import text_string_to_metric_families

from onward.streams import engine
from onward.streams.engine.counts import COUNTS, Count
from onward.streams.engine.portion import Effects
from onward.streams.metrics import Metrics
from onward.streams.worker.processor_metrics import ProcessorMetrics
from onward.tests.support.pipeline import no_clock

ENGINE = Path(engine.__file__).parent


def counted_names() -> set[str]:
    """The names that the engine's code counts: ``fold.count(name, ...)``."""
    names = set()
    for path in ENGINE.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute):
                continue
            owner = ast.unparse(node.func.value)
            if node.func.attr == "count" and owner in ("fold", "self"):
                names |= {one.value for one in ast.walk(node.args[0]) if isinstance(one, ast.Constant)} - {""}
    return names


def test_what_the_engine_counts_are_the_counts():
    assert counted_names() == set(COUNTS)


def shown(effects: Effects) -> dict[str, dict[tuple[str, ...], float]]:
    metrics = Metrics()
    ProcessorMetrics(metrics, {}, no_clock).count(effects, Counter())
    families = text_string_to_metric_families(metrics.expose().decode())
    return {family.name: {tuple(one.labels.values()): one.value for one in family.samples} for family in families}


@pytest.mark.parametrize("name", COUNTS)
def test_every_count_is_shown(name):
    values = ("a", "b")[: len(COUNTS[name].labels)]
    label, detail = (*values, "", "")[:2]
    effects = Effects(counts=Counter({(name, label, detail): 3}))
    [(labels, value)] = shown(effects)[f"onward_{name}"].items()
    assert (set(labels), value) == (set(values), 3.0)


def test_a_count_that_nobody_has_declared_is_an_error_and_no_silence(monkeypatch):
    effects = Effects(counts=Counter([("withdrawals", "loan", "")]))
    with pytest.raises(LookupError, match="'withdrawals' is counted: declare it in COUNTS"):
        shown(effects)
    monkeypatch.setitem(COUNTS, "withdrawals", Count("People who withdrew.", ("program",)))
    assert shown(effects)["onward_withdrawals"] == {("loan",): 1.0}

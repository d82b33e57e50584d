"""Everything that the engine observes is shown."""

from __future__ import annotations

import ast
from collections import Counter, defaultdict
from pathlib import Path

import pytest
from prometheus_client.parser import text_string_to_metric_families

from onward.streams import engine
from onward.streams.engine.metrics import OBSERVATIONS, Observation
from onward.streams.engine.portion import PortionChanges
from onward.streams.histogram import bucket_name
from onward.streams.metrics import Metrics
from onward.streams.worker.processor_metrics import ProcessorMetrics
from onward.testing.pipeline import no_clock

ENGINE = Path(engine.__file__).parent


def observed_names() -> set[str]:
    """The names that the engine's code observes: ``fold.count(name, ...)`` and ``fold.observe(name, ...)``."""
    names = set()
    for path in ENGINE.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute):
                continue
            owner = ast.unparse(node.func.value)
            if node.func.attr in ("count", "observe") and owner in ("fold", "self"):
                names |= {one.value for one in ast.walk(node.args[0]) if isinstance(one, ast.Constant)} - {""}
    return names


def test_what_the_engine_observes_is_declared():
    assert observed_names() == set(OBSERVATIONS)


def shown(effects: PortionChanges) -> dict[str, dict[tuple[str, ...], float]]:
    metrics = Metrics()
    ProcessorMetrics(metrics, {}, no_clock).count(effects, Counter())
    families = text_string_to_metric_families(metrics.expose().decode())
    return {family.name: {tuple(one.labels.values()): one.value for one in family.samples} for family in families}


@pytest.mark.parametrize("name", OBSERVATIONS)
def test_everything_that_is_observed_is_shown(name):
    observation = OBSERVATIONS[name]
    values = ("a", "b", "c")[: len(observation.labels)]
    if observation.buckets:
        found = shown(PortionChanges(observed=defaultdict(list, {(name, "a"): [0.5, 1e12]})))[f"onward_{name}"]
        [in_all] = [value for labels, value in found.items() if "+Inf" in labels]
        [in_largest] = [value for labels, value in found.items() if bucket_name(observation.buckets[-1]) in labels]
        assert (in_all, in_largest) == (2.0, 1.0)
    else:
        [(labels, value)] = shown(PortionChanges(counts=Counter({(name, *values): 3})))[f"onward_{name}"].items()
        assert (set(labels), value) == (set(values), 3.0)


def test_what_nobody_has_declared_is_an_error_and_no_silence(monkeypatch):
    effects = PortionChanges(counts=Counter([("withdrawals", "loan")]))
    with pytest.raises(LookupError, match="'withdrawals' is observed: declare it in OBSERVATIONS"):
        shown(effects)
    monkeypatch.setitem(OBSERVATIONS, "withdrawals", Observation("People who withdrew.", ("program",)))
    assert shown(effects)["onward_withdrawals"] == {("loan",): 1.0}

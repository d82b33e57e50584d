"""Options that die when the model is trained again, as far as training has measured it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from ....agents.promises import whole_percent
from ...advice import ACCEPTED, LASTING
from ..evidence import Evidence
from . import Finding

FACTS = "lasting:"
"""Begins the names of the metrics that say how many options last by a rule, and at what cost: rule and fact follow."""
OWN, BARE = "own", "bare"
"""The spec's own rules, and none beyond the threshold. Others are named by their line of a spec."""


def dies(evidence: Evidence) -> Iterator[Finding]:
    """Models of other rows that accept too few of the options. The figure is the share that they accept."""
    metrics = evidence.manifest.metrics
    share = lasting_share(metrics)
    if share is None or share >= ACCEPTED:
        return
    shares, costs, without = (_facts(metrics, fact) for fact in ("share", "relative", "without"))
    tried = [rule for rule in shares if rule in costs.keys() - {OWN, BARE}]
    enough = [rule for rule in tried if shares[rule] >= ACCEPTED]
    text = f"models trained on other rows of the data accept {whole_percent(share)} of the options: "
    if not tried:
        text += LASTING
    else:
        rule = min(enough, key=lambda each: costs[each]) if enough else max(tried, key=lambda each: shares[each])
        gives = f"with `{rule}` {whole_percent(shares[rule])}, at {costs[rule]:.2f} times the cost"
        gives += f", and {without.get(rule, 0.0):.0%} of the people have none"
        nothing = f"no rule that training tried reaches {ACCEPTED:.0%}"
        text += gives if enough else f"{nothing}: {gives}" if shares[rule] > share else f"{nothing}, or more than that"
    yield Finding(("policy", "margin"), share, text)


def lasting_share(metrics: Mapping[str, float]) -> float | None:
    """The share of a program's options that models of other rows accept; None where training has not measured it."""
    return _facts(metrics, "share").get(OWN, metrics.get("retrained_accept"))


def _facts(metrics: Mapping[str, float], fact: str) -> dict[str, float]:
    """A fact about how options last, by rule."""
    named = {name.removeprefix(FACTS): value for name, value in metrics.items() if name.startswith(FACTS)}
    return {name.removesuffix(f":{fact}"): value for name, value in named.items() if name.endswith(f":{fact}")}

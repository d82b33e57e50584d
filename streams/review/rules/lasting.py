"""Options that die when the model is trained again, as far as training has measured it."""

from __future__ import annotations

from collections.abc import Iterator

from ....agents.promises import whole_percent
from ...advice import ACCEPTED, LASTING
from ...programs.bundle.measured import BARE, OWN, Measured
from ..evidence import Evidence
from . import Finding


def dies(evidence: Evidence) -> Iterator[Finding]:
    """Models of other rows that accept too few of the options. The figure is the share that they accept."""
    measured = evidence.manifest.measured
    share = lasting_share(measured)
    if share is None or share >= ACCEPTED:
        return
    rules = {} if measured.lasting is None else measured.lasting.rules
    tried = {rule: lasted for rule, lasted in rules.items() if rule not in (OWN, BARE)}
    enough = {rule: lasted for rule, lasted in tried.items() if lasted.share >= ACCEPTED}
    text = f"models trained on other rows of the data accept {whole_percent(share)} of the options: "
    if not tried:
        text += LASTING
    else:
        by_cost, by_share = (lambda rule: tried[rule].relative), (lambda rule: tried[rule].share)
        rule = min(enough, key=by_cost) if enough else max(tried, key=by_share)
        best = tried[rule]
        gives = f"with `{rule}` {whole_percent(best.share)}, at {best.relative:.2f} times the cost"
        gives += f", and {best.without:.0%} of the people have none"
        nothing = f"no rule that training tried reaches {ACCEPTED:.0%}"
        text += gives if enough else f"{nothing}: {gives}" if best.share > share else f"{nothing}, or more than that"
    yield Finding(("policy", "margin"), share, text)


def lasting_share(measured: Measured) -> float | None:
    """The share of a program's options that models of other rows accept; None where training has not measured it."""
    if measured.lasting is not None and OWN in measured.lasting.rules:
        return measured.lasting.rules[OWN].share
    return None if measured.margin is None else measured.margin.accepted

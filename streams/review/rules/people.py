"""Whom the program serves: those without an option, those below the floor, and whether it rejects as many as fail."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator

from msgspec import UNSET

from ....schemas.feature_check import listed
from ....schemas.number_text import number
from ....schemas.yamltree import Path
from ...advice import HIGH
from ..evidence import FEWEST, Evidence
from . import Finding

FAR = 0.15
"""How far the share of the approved may be from that of the wanted outcomes. A model that cannot tell people apart well
leans to the larger group by that much."""
TIMES = 3.0
"""Where few fail: how many times as many may fail as the model rejects, or the other way."""
STANDARD_ERRORS = 3.0
BELOW_FLOOR = "would_not_help"
"""The reason of people all of whose options are below the floor."""
EVEN = 0.5
"""The probability of the wanted outcome below which a change is no way to it, where the spec has no floor."""


def without_option(evidence: Evidence) -> Iterator[Finding]:
    """Rejected people who have no option, by reason. The figure is their share of those who were answered."""
    reasons = Counter(answer.reason for answer in evidence.no_recourses if answer.reason != BELOW_FLOOR)
    for reason, count in reasons.most_common():
        share = count / len(evidence.answers)
        if count < FEWEST or share < HIGH:
            continue
        advices = Counter(one.advice for one in evidence.no_recourses if one.reason == reason and one.advice)
        advice = "".join(
            f"; for {people} of them: {words}" for words, people in advices.most_common(1) if people >= FEWEST
        )
        text = f"{count} of {len(evidence.answers)} rejected people have no option ({reason.replace('_', ' ')}){advice}"
        yield Finding(_limit(evidence), share, text)


def _limit(evidence: Evidence) -> Path:
    """Where the spec limits what people may do."""
    return ("constraints",) if evidence.spec.constraints.max_changes is not None else ("features",)


def below_floor(evidence: Evidence) -> Iterator[Finding]:
    """People who lose all options to the floor; without a floor, options after which most people still fail.

    The figure is their share.
    """
    policy = evidence.spec.policy
    lost = sum(answer.reason == BELOW_FLOOR for answer in evidence.no_recourses)
    if lost >= FEWEST and lost >= HIGH * len(evidence.answers):
        name = "least_help" if policy.least_help is not None else "least_gain"
        text = (
            f"{lost} of {len(evidence.answers)} rejected people have only options that would not help, below "
            f"`{name}: {getattr(policy, name):g}`: let other features change, or ask less of an option"
        )
        yield Finding(("policy", name), lost / len(evidence.answers), text)
    helps = [option.improvement_probability for _, option in evidence.told_options]
    below = sum(help is not UNSET and help < EVEN for help in helps)
    if policy.least_help is None and below >= FEWEST and below >= HIGH * len(helps):
        text = (
            f"{below} of {len(helps)} options leave people with less than even odds of the wanted outcome, by the "
            f"labels: write `least_help: {EVEN}`, so that nobody is told of them as a way"
        )
        yield Finding(("policy", "least_help"), below / len(helps), text)


def far_from_label(evidence: Evidence) -> Iterator[Finding]:
    """A model that approves far more people than have the wanted outcome, or far fewer. The figure is the difference.

    By the rows that training kept aside, where there are some, and by all rows: those it has seen it knows.
    """
    quality, rows = evidence.manifest.measured.quality, len(evidence.desired)
    shares = [(float(evidence.approved.mean()), float(evidence.desired.mean()), float(rows))]
    if quality is not None:
        shares.append((quality.approval_rate, quality.desired_rate, float(quality.held_out_rows)))
    approved, desired, of = max(shares, key=lambda share: abs(share[0] - share[1]))
    least, most = sorted((1.0 - approved, 1.0 - desired))
    is_far = most - least > FAR or most > TIMES * least
    if is_far and most - least > STANDARD_ERRORS * math.sqrt(desired * (1.0 - desired) / of):
        text = (
            f"the model rejects {1.0 - approved:.1%}, and {1.0 - desired:.1%} do not have the wanted outcome: give a "
            f"{'higher' if approved > desired else 'lower'} threshold, or train on data like those of today"
        )
        yield Finding(("model", "threshold"), approved - desired, text)


def third_outcomes(evidence: Evidence) -> Iterator[Finding]:
    """Values of the label beside two, each of which counts as an unwanted outcome.

    The figure is the share of the rarer ones.
    """
    label = evidence.spec.label
    cells = zip(evidence.read.raw.columns[label.name], evidence.desired, strict=True)
    unwanted, spelling = Counter[float | str](), dict[float | str, str]()
    for cell, is_desired in cells:
        if not is_desired:
            value = number(cell.strip().casefold())
            unwanted[value] += 1
            spelling.setdefault(value, cell.strip())
    rarer = unwanted.most_common()[1:]
    if rarer:
        counted = listed([f"{spelling[value]} ({count} times)" for value, count in rarer])
        most, next_most = (spelling[value] for value, _ in unwanted.most_common(2))
        text = (
            f"{label.name}: {counted} counts as an unwanted outcome, as {most} does: write "
            f"`not_given: [{next_most}]` for a value that is none"
        )
        yield Finding(("label",), sum(count for _, count in rarer) / len(evidence.desired), text, label.name)

"""A feature that stops helping, on the screen: improvement before and after, and the feature that a learner found."""

from __future__ import annotations

from msgspec import UNSET
from rich.table import Column, Table
from rich.text import Text

from ...simulation.run_stats import Summary
from ...simulation.shift_stats import ShiftSummary
from .words import mean

PHASES = ("before", "just_after", "end")


def shift_table(summary: Summary) -> list[Table | Text]:
    """Improvement by phase and policy, and below it what was learned; nothing where nothing stops helping."""
    if summary.shift is UNSET:
        return []
    table = Table("improvement", *(Column(name, justify="right") for name in ("before", "just after", "at the end")))
    for policy, own in summary.shift.improvement.items():
        table.add_row(policy, *(mean(getattr(own, phase)) for phase in PHASES))
    return [table, *(Text(line) for line in shift_lines(summary.shift))]


def shift_lines(shift: ShiftSummary) -> list[str]:
    """What stops helping and when, and what each learner has found by the end."""
    lines = [f"{shift.feature} stops helping once {shift.at:,} rejected people are answered"]
    for policy, feature in shift.found.items():
        omega = shift.omega[policy]
        found = "no feature" if feature is None else f"{feature}, by {omega[feature]:.0%}"
        lines.append(f"{policy} found to help less than expected: {found}")
    return lines


def phases_in_words(shift: ShiftSummary) -> str:
    """The improvement of each policy before, just after and at the end, in a line."""
    return ", ".join(
        f"{policy} {' / '.join(mean(getattr(own, phase)) for phase in PHASES)}"
        for policy, own in shift.improvement.items()
    )

"""Expectations on the screen: predicted against observed rewards, and the features unlike what was expected."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from rich.markup import escape
from rich.table import Column, Table

from ...printable import printable
from .words import mean, right

if TYPE_CHECKING:
    from ...engine.rewards.summary import RewardsSummary


def rewards_table(rewards: Mapping[str, RewardsSummary], last: Mapping[str, str]) -> Table:
    """Means over the last outcomes; ``last`` is the day of each program's last drift.

    Before the first window has closed nothing counts yet: then the outcomes so far are shown as early ones.
    """
    numbers = ("outcomes", "predicted", "observed", "error", "drifts")
    table = Table(Column("program", overflow="fold"), *map(right, numbers), "last drift", title="Rewards")
    for name, own in rewards.items():
        outcomes, predicted, observed = own.totals
        means = [total / outcomes if outcomes else None for total in (predicted, observed)]
        cells = (*map(mean, (*means, own.calibration_error)), f"{own.drifts:,}", last[name])
        count = f"{outcomes:,}" if outcomes or not own.early else f"{own.early:,} early"
        table.add_row(name, count, *cells)
    return table


def features_table(rewards: Mapping[str, RewardsSummary]) -> Table | None:
    """The features that help less than expected, or are harder or easier to change; None where there are none."""
    numbers = ("omega", "sd", "difficulty")
    table = Table(
        *(Column(name, overflow="fold") for name in ("program", "feature")),
        *map(right, numbers),
        title="Features that help less, or are harder or easier to change, than expected",
    )
    for name, own in rewards.items():
        for feature in own.features:
            if feature.is_unexpected:
                cells = (f"{number:.2f}" for number in (feature.omega, feature.omega_sd, feature.difficulty))
                table.add_row(name, escape(printable(feature.feature)), *cells)
    return table if table.row_count else None

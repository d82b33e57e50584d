"""The scenarios: one function each injects the faults. The check afterwards is the same for all."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from onward.tests.faults.suite.environment import TURNS_PER_SECOND, ScenarioEnv
from onward.tests.faults.suite.scenarios import (
    clocks,
    corruption,
    cuts,
    disks,
    erasures,
    expired,
    floods,
    kills,
    outages,
    repeats,
    upgrades,
    widths,
    zombies,
)


def _available() -> None:
    """Return no reason: the scenario runs everywhere."""


@dataclass(frozen=True)
class Scenario:
    """``run`` injects the faults while the sender runs. ``weight`` is the scenario's share of the time.

    A turn has one applicant of every program. With ``is_shuffled`` the inputs come out of order. ``unavailable``
    returns why the scenario cannot run here, or None.
    """

    run: Callable[[ScenarioEnv], None]
    weight: float = 1.0
    turns_per_second: float = TURNS_PER_SECOND
    is_shuffled: bool = False
    unavailable: Callable[[], str | None] = _available

    @property
    def name(self) -> str:
        """The name on the command line."""
        return self.run.__name__.replace("_", "-")


SCENARIOS = (
    # First: brokers restart faster while they hold little data.
    Scenario(outages.brokers_killed_in_turn),
    Scenario(outages.brokers_unreachable, 5.0),
    Scenario(outages.brokers_lost_together),
    Scenario(kills.one_worker_at_named_points, 2.0),
    Scenario(kills.three_workers_at_named_points, 2.0),
    Scenario(kills.one_worker_at_any_time),
    Scenario(kills.three_workers_at_any_time, 1.5),
    Scenario(kills.one_worker_in_a_backlog, turns_per_second=300.0),
    Scenario(zombies.zombies_at_any_time, 1.5),
    Scenario(zombies.zombies_in_mid_step, 1.5),
    Scenario(disks.full_and_read_only_disk, unavailable=disks.unavailable),
    Scenario(corruption.damaged_ledgers_and_snapshots),
    Scenario(clocks.clock_jumps),
    Scenario(floods.poison_records),
    Scenario(repeats.repeated_and_shuffled_input, is_shuffled=True),
    Scenario(erasures.erased_people),
    Scenario(expired.expired_inputs),
    Scenario(widths.raised_partitions),
    Scenario(upgrades.upgrade),
    Scenario(cuts.trimming),
    Scenario(cuts.removed_ledgers),
    Scenario(cuts.cut_journal),
)

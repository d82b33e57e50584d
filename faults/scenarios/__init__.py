"""The scenarios: what happens, one function each. What is looked at afterwards is the same for all."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from onward.faults.scenarios import clocks, corruption, disks, floods, kills, outages, repeats, zombies
from onward.faults.site import TURNS_A_SECOND, Site


def _available() -> None:
    """It can be run everywhere."""


@dataclass(frozen=True)
class Scenario:
    """``run`` lets it happen while people apply; ``weight`` is its share of the time.

    ``turns_a_second`` is the rate at which they do, of one person a program; ``shuffled`` lets inputs come out of
    order; ``unavailable`` says why it cannot be run here.
    """

    run: Callable[[Site], None]
    weight: float = 1.0
    turns_a_second: float = TURNS_A_SECOND
    shuffled: bool = False
    unavailable: Callable[[], str | None] = _available

    @property
    def name(self) -> str:
        """As it is called on the command line."""
        return self.run.__name__.replace("_", "-")


SCENARIOS = (
    # Brokers are back sooner while they hold little.
    Scenario(outages.brokers_killed_in_turn),
    Scenario(outages.brokers_unreachable, 5.0),
    Scenario(outages.brokers_lost_together),
    Scenario(kills.one_worker_at_named_points, 2.0),
    Scenario(kills.three_workers_at_named_points, 2.0),
    Scenario(kills.one_worker_at_any_time),
    Scenario(kills.three_workers_at_any_time, 1.5),
    Scenario(kills.one_worker_in_a_backlog, turns_a_second=300.0),
    Scenario(zombies.zombies_at_any_time, 1.5),
    Scenario(zombies.zombies_in_mid_step, 1.5),
    Scenario(disks.full_and_read_only_disk, unavailable=disks.unavailable),
    Scenario(corruption.damaged_ledgers_and_snapshots),
    Scenario(clocks.clock_jumps),
    Scenario(floods.poison_records),
    Scenario(repeats.repeated_and_shuffled_input, shuffled=True),
)

"""The results of the suite: one of each scenario, and their summary, which is the JSON line."""

from __future__ import annotations

from collections import Counter

import msgspec

_SUMMED = ("kills", "takeovers", "zombies", "records", "lost", "duplicates", "conflicting")


class Result(msgspec.Struct):
    """The faults and findings of one scenario. ``ends`` counts the exit codes of workers, except SIGKILL's."""

    name: str
    seconds: float
    kills: int
    takeovers: int
    zombies: int
    records: int
    lost: int
    duplicates: int
    conflicting: int
    state_equal: bool
    refused: int
    ends: dict[str, int]
    surprises: list[str]

    @property
    def passed(self) -> bool:
        """Whether the checker found no fault and nothing unexpected happened."""
        return self.is_clean and not self.surprises

    @property
    def failed_as_required(self) -> bool:
        """Whether the checker found the fault of a negative control, and nothing unexpected happened."""
        return not self.is_clean and not self.surprises

    @property
    def is_clean(self) -> bool:
        """Whether the checker found no fault."""
        return self.lost == 0 and self.conflicting == 0 and self.state_equal


class Summary(msgspec.Struct):
    """Sums over ``scenarios``. The ``controls`` are not part of the sums. ``left_out``: scenario name to reason."""

    passed: bool
    seed: int
    seconds: float
    kills: int
    takeovers: int
    zombies: int
    records: int
    lost: int
    duplicates: int
    conflicting: int
    state_equal: bool
    scenarios: list[Result]
    controls: list[Result]
    left_out: dict[str, str]


def summary(
    seed: int, seconds: float, results: list[Result], controls: list[Result], left_out: dict[str, str]
) -> Summary:
    """Sum up. A run passes when it ran anything, every scenario passed, and every control failed as required."""
    sums: Counter[str] = Counter()
    for result in results:
        for name in _SUMMED:
            sums[name] += getattr(result, name)
    return Summary(
        passed=bool(results or controls)
        and all(result.passed for result in results)
        and all(control.failed_as_required for control in controls),
        seed=seed,
        seconds=round(seconds, 1),
        kills=sums["kills"],
        takeovers=sums["takeovers"],
        zombies=sums["zombies"],
        records=sums["records"],
        lost=sums["lost"],
        duplicates=sums["duplicates"],
        conflicting=sums["conflicting"],
        state_equal=all(result.state_equal for result in results),
        scenarios=results,
        controls=controls,
        left_out=left_out,
    )

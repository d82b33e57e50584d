"""The negative controls: pipelines that lose or duplicate outputs under the same faults. The checker must find that."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from onward.tests.faults.suite.check.checker import Findings
from onward.tests.faults.suite.controls.counter import stock_faust_counter
from onward.tests.faults.suite.controls.send_soon import send_soon_output
from onward.tests.faults.suite.environment import ScenarioEnv


@dataclass(frozen=True)
class Control:
    """``run`` injects the faults and returns the findings of the checker.

    When nothing has changed for ``stall_seconds``, missing outputs count as lost.
    """

    run: Callable[[ScenarioEnv], Findings]
    stall_seconds: float

    @property
    def name(self) -> str:
        """The name on the command line."""
        return self.run.__name__.replace("_", "-")


CONTROLS = (Control(stock_faust_counter, 30.0), Control(send_soon_output, 20.0))

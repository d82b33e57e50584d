"""The negative controls: pipelines that lose or double what the same faults hit, and must be seen to by the checker."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from onward.faults.checker import Findings
from onward.faults.controls.counter import stock_faust_counter
from onward.faults.controls.send_soon import send_soon_output
from onward.faults.site import Site


@dataclass(frozen=True)
class Control:
    """``run`` lets it happen, and tells what the checker found.

    ``patience_seconds`` is for how long nothing may have come when what is missing is given up.
    """

    run: Callable[[Site], Findings]
    patience_seconds: float

    @property
    def name(self) -> str:
        """As it is called on the command line."""
        return self.run.__name__.replace("_", "-")


CONTROLS = (Control(stock_faust_counter, 30.0), Control(send_soon_output, 20.0))

"""``onward demo``: everything at once, on this machine, in about a minute."""

from __future__ import annotations

from collections.abc import Sequence

from ...settings import DemoSettings
from ..demo import demo
from ..flags import parse_settings
from ..interruption import interruptible

DESCRIPTION = """Show Onward at work: rejected people get a way forward, and the learner gets better. Starts an embedded
Kafka (or uses the one given), the production worker and a simulated world, and counts what is on the topics."""


def run(args: Sequence[str]) -> int:
    """Run to the end; Ctrl-C and SIGTERM stop everything that was started."""
    settings = parse_settings(DemoSettings, "onward demo", DESCRIPTION, args)
    with interruptible():
        return demo(settings)

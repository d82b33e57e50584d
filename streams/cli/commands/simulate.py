"""``onward simulate``: a world for workers that run already."""

from __future__ import annotations

from collections.abc import Sequence

from ...settings import SimulateSettings
from ..flags import parse_settings
from ..interruption import interruptible
from ..simulate import simulate

DESCRIPTION = """Publish a simulated world, people and what becomes of them, to a Kafka whose workers serve its
programs: `onward simulate --programs DIR` writes these for `onward worker --spec DIR/NAME/spec.yaml`."""


def run(args: Sequence[str]) -> int:
    """Run to the end, or until Ctrl-C or SIGTERM."""
    settings = parse_settings(SimulateSettings, "onward simulate", DESCRIPTION, args)
    with interruptible():
        return simulate(settings)

"""``onward evaluate``: what another policy would have earned."""

from __future__ import annotations

from collections.abc import Sequence

from ...settings import EvaluateSettings
from ..evaluate import evaluate
from ..flags import parse_settings

DESCRIPTION = """Estimate from the log of a program what another policy would have earned: reads the journal and the
recourse topic to where they end now, writes nothing."""


def run(args: Sequence[str]) -> int:
    """Print a table, or JSON."""
    return evaluate(parse_settings(EvaluateSettings, "onward evaluate", DESCRIPTION, args))

"""Reminds of what a drafted spec leaves to people."""

from __future__ import annotations

import sys
from pathlib import Path

from ....schemas.draft.marks import undecided_lines


def tell_undecided(spec: Path) -> None:
    """Name on standard error the lines of a spec that are still marked ``decide``; nothing where there is none."""
    lines = undecided_lines(spec.read_text(encoding="utf-8"))
    if lines:
        numbers = f"line{'s' * (len(lines) > 1)} {', '.join(map(str, lines))}"
        print(
            f"{spec}: {numbers} still marked decide: say what a person can change, and delete the mark", file=sys.stderr
        )

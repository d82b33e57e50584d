"""``python -m onward.faults``: an interruption is one line and an exit code, whatever it interrupts."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from onward.streams.cli import INTERRUPTED


def main(argv: Sequence[str] | None = None) -> int:
    """Run what is asked for; return the exit code."""
    try:
        # Imported late, because that takes seconds, which may be interrupted as well.
        from onward.faults.command import run_command

        return run_command(argv)
    except KeyboardInterrupt:
        print("faults: interrupted", file=sys.stderr)
        return INTERRUPTED


if __name__ == "__main__":
    sys.exit(main())

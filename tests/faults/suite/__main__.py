"""``python -m onward.tests.faults.suite``: an interruption prints one line and sets the exit code."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

from onward.streams.cli import INTERRUPTED

if TYPE_CHECKING:
    from onward.tests.faults.suite.command import Run


def main(argv: Sequence[str] | None = None, *, run: Run | None = None) -> int:
    """Run the command; return the exit code."""
    try:
        # The import takes seconds, and an interruption during it is handled here too.
        from onward.tests.faults.suite.command import run_command

        return run_command(argv, run=run)
    except KeyboardInterrupt:
        print("faults: interrupted", file=sys.stderr)
        return INTERRUPTED


if __name__ == "__main__":
    sys.exit(main())

"""Onward's worker that says that it is the engine before this one, and that reads no newer journal."""

from __future__ import annotations

import sys

from onward.streams.engine import version


def main() -> int:
    """Take the older number before any other module reads it."""
    older: dict[str, int] = {"ENGINE_VERSION": version.ENGINE_VERSION - 1}
    vars(version).update(older)
    from onward.tests.faults.suite.workers import worker

    return worker.main()


if __name__ == "__main__":
    sys.exit(main())

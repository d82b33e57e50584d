"""What the owners of a program should look at, though nothing is wrong: an ``OnwardWarning`` a line."""

from __future__ import annotations

import warnings
from collections.abc import Iterable
from pathlib import Path

from ..errors import OnwardWarning


def remind(of: str | Path, lines: Iterable[str]) -> None:
    """Warn the caller of the public function that calls this, in a line each, with the file that the lines are about.

    That function ``checks_arguments``, which is one call between.
    """
    for line in lines:
        warnings.warn(f"{of}: {line}", OnwardWarning, stacklevel=4)

"""What a draft leaves to people: the features marked ``decide``."""

from __future__ import annotations

import re

_MARKED = re.compile(r"\s*-.*#.*\bdecide\b")


def undecided_lines(text: str) -> list[int]:
    """The numbers of the lines of a spec, from 1, whose comments still ask somebody to decide.

    Examples
    --------
    >>> undecided_lines("features:\\n  - {name: color, type: categorical}  # decide: can a person change it?\\n")
    [2]
    """
    return [number for number, line in enumerate(text.splitlines(), 1) if _MARKED.match(line)]

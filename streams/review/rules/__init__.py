"""The rules of a review, the gravest first: each finds one kind of what may harm people or mislead a program's owners.

A rule reads data and options. No word in a name decides that something is harmless.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import NamedTuple

from ....schemas.yamltree import Path
from ..evidence import Evidence


class Finding(NamedTuple):
    """What a rule has found: the place in the spec to change, its figure, and a sentence."""

    path: Path
    figure: float
    text: str
    feature: str | None = None


Rule = Callable[[Evidence], Iterable[Finding]]

"""What a spec leaves to people: features marked ``decide``, and those that somebody may be told to change though
they are personal, or by any amount."""

from __future__ import annotations

import re
from collections.abc import Iterator

import numpy as np

from ..spec import ProgramSpec
from .features import COUNTED
from .names import is_personal, words_of

_MARKED = re.compile(r"\s*-[^#]*+#.*\bdecide\b")
_MARKED_LABEL = re.compile(r"label:[^#]*+#.*\bdecide\b")


def undecided_lines(text: str) -> list[int]:
    """The numbers of the lines of a spec, from 1, whose comments still ask somebody to decide.

    Examples
    --------
    >>> undecided_lines("features:\\n  - {name: color, type: categorical}  # decide: can a person change it?\\n")
    [2]
    """
    return [number for number, line in enumerate(text.splitlines(), 1) if _MARKED.match(line)]


def undecided_label(text: str) -> int | None:
    """The number of the line whose comment asks somebody to decide which label is the desired one."""
    return next((number for number, line in enumerate(text.splitlines(), 1) if _MARKED_LABEL.match(line)), None)


def unprotected(spec: ProgramSpec) -> Iterator[str]:
    """A line for each feature that looks personal by its name, may be changed, and of which the spec does not say
    whether it is protected."""
    for feature in spec.features:
        if feature.mutable != "none" and feature.protected is None and is_personal(words_of(feature.name)):
            yield (
                f"{feature.name}: people may be told to change it, and it looks personal: write "
                "`mutable: none, protected: true`, or `protected: false` where it is not"
            )


def unlimited(spec: ProgramSpec) -> list[str]:
    """The numbers that somebody may be told to change by any amount within their bounds.

    Whole numbers of a few units are counted, and no amount to speak of.
    """
    open_ones = (feature for feature in spec.features if feature.mutable != "none" and feature.max_change is None)
    return [
        feature.name
        for feature in open_ones
        if feature.bounds and not (feature.type == "integer" and np.ptp(feature.bounds) < COUNTED)
    ]

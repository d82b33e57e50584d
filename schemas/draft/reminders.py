"""Features that somebody may be told to change though they look personal, or by any amount."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from ..spec import ProgramSpec
from .features import COUNTED
from .names import is_personal, words_of


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
    open_ones = (feature for feature in spec.features if feature.may_change and feature.max_change is None)
    return [
        feature.name
        for feature in open_ones
        if feature.bounds and not (feature.type == "integer" and np.ptp(feature.bounds) < COUNTED)
    ]

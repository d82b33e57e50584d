"""What follows from the changes of a program's people: the effects and computed features of its spec, as arrays."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import chain

import numpy as np
from msgspec import UnsetType
from numpy.typing import NDArray

from ...agents.consequences import Consequences, EncodedStrata, Encoding, Formula, Link
from ...schemas.computed import Expression, expression
from ...schemas.effects import effects_of, few_values
from ...schemas.encoding import FeatureCodec
from .bundle.manifest import FittedEffect
from .effects import Fitted, effects_in_force

NOWHERE = -math.inf, math.inf
"""Where what follows stops of which nothing says that it does."""


def consequences_of(codec: FeatureCodec, fitted: Fitted) -> Consequences | None:
    """The consequences by the codec's spec; None where nothing follows.

    A slope or deviation of the spec counts, else the ``fitted`` one of the manifest of the program's first model: what
    people were told is understood by the same slopes as long as the program lives.
    """
    spec = codec.spec
    number = {feature.name: index for index, feature in enumerate(spec.features)}
    stops = {effect.to for effect in effects_of(spec) if effect.stops}
    followed: dict[str, list[FittedEffect]] = {}
    for effect in effects_in_force(spec, fitted):
        followed.setdefault(effect.to, []).append(effect)
    links = [
        Link(
            number[child],
            [number[effect.from_] for effect in effects],
            [effect.slope for effect in effects],
            [effect.deviation for effect in effects],
            stops=(spec.features[number[child]].bounds if child in stops else None) or NOWHERE,
            strata=_strata(codec, effects),
        )
        for child, effects in followed.items()
    ]
    for name, text in spec.computed.items():
        computed = expression(text)
        links.append(Link(number[name], [number[term] for term in computed.names], formula=_formula(computed)))
    if not links:
        return None
    columns = np.searchsorted(codec.feature_of, np.arange(len(spec.features)))
    return Consequences(links, Encoding(columns, codec.low, codec.scale, codec.digits))


def _strata(codec: FeatureCodec, effects: Sequence[FittedEffect]) -> EncodedStrata | None:
    """The groups of people in which the effects on one child differ; None where they do in none."""
    strata = [{} if isinstance(effect.strata, UnsetType) else effect.strata for effect in effects]
    by = next((effect.by for effect in effects if not isinstance(effect.by, UnsetType)), None)
    index = next((place for place, feature in enumerate(codec.features) if feature.name == by), None)
    if index is None:
        return None
    values = {str(value): codec.encoded(index, value) for value in few_values(codec.features[index])}
    groups = [value for value in dict.fromkeys(chain.from_iterable(strata)) if value in values]
    if not groups:
        return None
    of_groups = [
        [slopes_of_child.get(value, effect) for effect, slopes_of_child in zip(effects, strata, strict=True)]
        for value in groups
    ]
    slopes, deviations = np.array(
        [[(slope.slope, slope.deviation) for slope in slopes_of_child] for slopes_of_child in of_groups]
    ).T
    rows = np.array([values[value] for value in groups])
    return EncodedStrata(np.flatnonzero(codec.feature_of == index), rows, slopes.T, deviations.T)


def _formula(computed: Expression) -> Formula:
    def formula(values: Sequence[NDArray[np.float64]]) -> NDArray[np.float64]:
        made = computed(dict(zip(computed.names, values, strict=True)))
        return np.broadcast_to(made, values[0].shape)

    return formula

"""What follows from the changes of a program's people: the effects and computed features of its spec, as arrays."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from ...agents.consequences import Consequences, Encoding, Formula, Link
from ...schemas.computed import Expression, expression
from ...schemas.effects import effects_of
from ...schemas.encoding import FeatureCodec
from .bundle.manifest import FittedEffect
from .effects import Fitted, effects_in_force

NOWHERE = -math.inf, math.inf
"""Where what follows stops of which nothing says that it does."""


def consequences_of(codec: FeatureCodec, fitted: Fitted) -> Consequences | None:
    """What follows by the codec's spec; None where nothing does.

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
            [number[effect.from_] for effect in own],
            [effect.slope for effect in own],
            [effect.deviation for effect in own],
            stops=(spec.features[number[child]].bounds if child in stops else None) or NOWHERE,
        )
        for child, own in followed.items()
    ]
    for name, text in spec.computed.items():
        computed = expression(text)
        links.append(Link(number[name], [number[each] for each in computed.names], formula=_formula(computed)))
    if not links:
        return None
    columns = np.searchsorted(codec.feature_of, np.arange(len(spec.features)))
    return Consequences(links, Encoding(columns, codec.low, codec.scale, codec.digits))


def _formula(computed: Expression) -> Formula:
    def formula(values: Sequence[NDArray[np.float64]]) -> NDArray[np.float64]:
        made = computed(dict(zip(computed.names, values, strict=True)))
        return np.broadcast_to(made, values[0].shape)

    return formula

"""The effects of a program: what its spec says of each, and else what training fitted."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from msgspec import UnsetType
from msgspec.structs import replace

from ...schemas.effects import effects_of
from ...schemas.spec import Effect, ProgramSpec
from .bundle.manifest import FittedEffect, FittedSlope
from .bundle.measured import Doubts

Fitted = tuple[FittedEffect, ...] | UnsetType
MOST_SHOWN = 10
EXACT = 1e-9
"""A deviation is that of rounding where it is a smaller share of the slope."""


def effects_in_force(spec: ProgramSpec, fitted: Fitted) -> tuple[FittedEffect, ...]:
    """The effects of a spec, each with a slope and a deviation: its own, else the fitted ones of a manifest.

    Give a spec that ``lacking_effects`` has nothing to say of.
    """
    return tuple([effect for stated in effects_of(spec) if (effect := _known(stated, _by_edge(fitted))) is not None])


def lacking_effects(spec: ProgramSpec, fitted: Fitted) -> str | None:
    """The effects of which neither the spec nor a manifest has all, in words; None where there are none."""
    known = _by_edge(fitted)
    lacking = [f"{effect.from_} -> {effect.to}" for effect in effects_of(spec) if _known(effect, known) is None]
    shown = ", ".join(lacking[:MOST_SHOWN]) + (", ..." if len(lacking) > MOST_SHOWN else "")
    return shown or None


def effect_name(effect: Effect | FittedEffect) -> str:
    """An effect in words."""
    return f"{effect.from_} -> {effect.to}"


def doubts_in_words(doubts: Doubts | None, fitted: Fitted) -> Iterator[str]:
    """A line for each thing that a model's data say against what follows in its spec."""
    if doubts is None:
        return
    for name in sorted({*doubts.broken, *doubts.undefined}):
        if broken := doubts.broken.get(name):
            yield f"{name}: not what `computed` says in {share(broken)} of the rows: correct the formula or these rows"
        if undefined := doubts.undefined.get(name):
            yield f"{name}: `computed` is not defined in {share(undefined)} of the rows, such as by a division by zero"
    slopes = {} if isinstance(fitted, UnsetType) else {effect_name(effect): effect.slope for effect in fitted}
    for name, slope in doubts.against.items():
        yield (
            f"effect {name}: the spec says a slope of {slopes.get(name, 0.0):.4g}, and in the data it is "
            f"{slope:.4g}, the other way: the spec's counts, so be sure of it"
        )


def fitted_in_words(spec: ProgramSpec, fitted: Fitted) -> Iterator[str]:
    """A line for each of the first effects of a model: how much follows, and how that differs between people."""
    stated = {(fit.from_, fit.to): fit for fit in effects_of(spec)}
    bounds = {feature.name: feature.bounds for feature in spec.features}
    found = () if isinstance(fitted, UnsetType) else fitted
    for fit in found[:MOST_SHOWN]:
        effect, ends = stated[fit.from_, fit.to], bounds.get(fit.to)
        source = "as the spec says" if effect.slope is not None else "fitted"
        source += f", stops at {ends[0]:g} and {ends[1]:g}" if effect.stops and ends is not None else ""
        strata = {} if effect.slope is not None or isinstance(fit.strata, UnsetType) else fit.strata
        line = f"effect {effect_name(fit)}: {fit.slope:.4g} for each 1, {_spread(fit)} ({source})"
        slopes: list[FittedEffect | FittedSlope] = [fit, *strata.values()]
        is_sure = any(slope.deviation < abs(slope.slope) for slope in slopes)
        yield line if is_sure else f"{line}: which way it goes is not sure of anybody"
        if strata:
            groups = [f"{value} {slope.slope:.4g}, {_spread(slope)}" for value, slope in strata.items()]
            yield f"  by {fit.by}: {'; '.join(groups)}"
    if len(found) > MOST_SHOWN:
        yield f"and {len(found) - MOST_SHOWN} more effects, in the manifest"


def _spread(effect: FittedEffect | FittedSlope) -> str:
    return f"give or take {effect.deviation if effect.deviation > EXACT * abs(effect.slope) else 0.0:.2g}"


def share(value: float) -> str:
    """A share as a percentage, which is not 0 where the share is not."""
    return f"{value:.1%}" if value >= 0.001 else "less than 0.1%"


def _by_edge(fitted: Fitted) -> Mapping[tuple[str, str], FittedEffect]:
    return {} if isinstance(fitted, UnsetType) else {(effect.from_, effect.to): effect for effect in fitted}


def _known(effect: Effect, fitted: Mapping[tuple[str, str], FittedEffect]) -> FittedEffect | None:
    """An effect with both numbers; None where one is not known."""
    other = fitted.get((effect.from_, effect.to))
    slope = effect.slope if effect.slope is not None or other is None else other.slope
    deviation = effect.deviation if effect.deviation is not None or other is None else other.deviation
    if slope is None or deviation is None:
        return None
    known = FittedEffect(effect.from_, effect.to, slope, deviation)
    if effect.slope is not None or other is None or isinstance(other.strata, UnsetType):
        return known
    strata = {
        value: replace(fit, deviation=effect.deviation) if effect.deviation is not None else fit
        for value, fit in other.strata.items()
    }
    return replace(known, by=other.by, strata=strata)

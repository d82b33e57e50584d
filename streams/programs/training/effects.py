"""What follows from a change, as the rows of a data file tell it: the slopes of effects, and whether formulas hold.

A slope is that of least squares of the child on all of its told parents together. Its deviation between people is the
standard deviation of what the parents leave of the child, divided by that of the parent: at a correlation r with one
parent it is |slope| sqrt(1/r^2 - 1). Where slopes differ between groups of people, these have their own
(``strata.py``). What the rows show is what goes together; an effect that they cannot show is told as a slope in the
spec.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
from msgspec import UNSET, UnsetType
from msgspec.structs import replace
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from ....schemas.computed import expression
from ....schemas.draft.columns import Floats
from ....schemas.draft.derived import rounding_of
from ....schemas.effects import effects_of, strata_of
from ....schemas.events import Value
from ....schemas.spec import Effect, ProgramSpec
from ....schemas.table import Table
from ...errors import UsageError
from ..bundle.manifest import FittedEffect, FittedSlope
from ..bundle.measured import Doubts
from ..effects import effect_name, share
from .strata import FEWEST, FittedStrata, Groups, are_apart, least_squares, strata_of_child

Indices = NDArray[np.intp]

MOST_BROKEN = 0.05
"""The largest share of rows that may break a formula: mistakes of entry are fewer. A column that breaks it more often
was made in another way, and people would be promised a value that they will not have."""
CLEARLY = 2.0
"""Standard errors from which a slope has a sign."""
SAME = 1e-9
"""A parent is a mixture of others where what these leave of it is a smaller share."""
RELATIVE = 1e-6
"""How far a number is off by the rounding of its parts, as a share of it."""


class FittedEffects(NamedTuple):
    """The effects of a spec, unset where it has none, and what the rows have against them, where there is something."""

    effects: tuple[FittedEffect, ...] | UnsetType
    doubts: Doubts | None = None


def fit_effects(csv: Path, spec: ProgramSpec, table: Table, rows: Indices) -> FittedEffects:
    """The effects of a spec, fitted on some ``rows`` of a table, whose formulas are checked on all.

    What the spec says itself counts, and is not fitted. Raises ``UsageError`` for a slope that the rows cannot tell,
    and for a computed feature that too many of them break.
    """
    found: dict[tuple[str, str], FittedEffect] = {}
    broken, undefined = _formulas(csv, spec, table)
    against: dict[str, float] = {}
    parents: dict[str, list[Effect]] = {}
    for effect in effects_of(spec):
        parents.setdefault(effect.to, []).append(effect)
    for on_child in parents.values():
        with threadpool_limits(1):
            fitted, contradicted = _of_child(csv, spec, on_child, table, rows)
        found |= {(fit.from_, fit.to): fit for fit in fitted}
        against |= contradicted
    ordered = tuple([found[effect.from_, effect.to] for effect in effects_of(spec)])
    doubts = Doubts(broken, undefined, against)
    return FittedEffects(ordered or UNSET, doubts if doubts != Doubts() else None)


def _of_child(
    csv: Path, spec: ProgramSpec, effects: Sequence[Effect], table: Table, rows: Indices
) -> tuple[list[FittedEffect], Mapping[str, float]]:
    """The effects on one child, and the fitted slopes of those whose own have the other sign."""
    names = [*(effect.from_ for effect in effects), effects[0].to]
    given, numbers = _given(table, names, rows)
    fault = _cannot_tell(names, numbers)
    if fault is not None:
        if any(effect.slope is None or effect.deviation is None for effect in effects):
            lacking = next(effect for effect in effects if effect.slope is None or effect.deviation is None)
            raise UsageError(
                f"{csv}: the effect {effect_name(lacking)} cannot be fitted: {fault}: give its `slope` and `deviation`"
            )
        return [_fitted(effect, FittedSlope(effect.slope or 0.0, 0.0)) for effect in effects], {}
    centred = numbers - numbers.mean(axis=0)
    x, y, sd = centred[:, :-1], centred[:, -1], centred[:, :-1].std(axis=0)
    slopes, errors = least_squares(x, y)
    against = {
        effect_name(effect): float(slope)
        for effect, slope, error in zip(effects, slopes, errors, strict=True)
        if effect.slope is not None and effect.slope * slope < 0 and abs(slope) > CLEARLY * error
    }
    is_open = np.array([effect.slope is None for effect in effects])
    slopes = np.array([effect.slope or 0.0 for effect in effects])
    if is_open.any():
        slopes[is_open] = least_squares(x[:, is_open], y - x @ slopes)[0]
    deviations = (y - x @ slopes).std() / sd
    features = _groups(spec, table, given) if is_open.all() else {}
    strata = strata_of_child(x, y, slopes, features, len(features) * len(spec.effects))
    found = enumerate(zip(effects, map(FittedSlope, slopes.tolist(), deviations.tolist()), strict=True))
    return [_fitted(effect, slope, place, strata) for place, (effect, slope) in found], against


def _groups(spec: ProgramSpec, table: Table, rows: Indices) -> Mapping[str, Groups]:
    """The groups of these rows, by each feature that may divide them; a row without a value is of none."""
    groups = {}
    for name, values in strata_of(spec).items():
        number = {value: place for place, value in enumerate(values)}
        group = np.array([number[table.rows[row][name]] for row in rows], dtype=np.intp)
        groups[name] = Groups(np.where(table.is_given(name)[rows], group, -1), list(map(str, values)))
    return groups


def _fitted(effect: Effect, slope: FittedSlope, place: int = 0, strata: FittedStrata | None = None) -> FittedEffect:
    """An effect as it was fitted, whose parent is at this place; a deviation of the spec counts."""

    def kept(fitted: FittedSlope) -> FittedSlope:
        return fitted if effect.deviation is None else replace(fitted, deviation=effect.deviation)

    fit = FittedEffect(effect.from_, effect.to, slope.slope, kept(slope).deviation)
    if strata is None:
        return fit
    return replace(fit, by=strata.by, strata={name: kept(slopes[place]) for name, slopes in strata.groups.items()})


def _cannot_tell(names: Sequence[str], numbers: Floats) -> str | None:
    """Why numbers (n, parents and the child) cannot tell the slopes; None where they can."""
    needed = FEWEST * (len(names) - 1)
    if len(numbers) < needed:
        return f"{len(numbers)} rows have all of {', '.join(names)}, and {needed} are needed"
    for name, column in zip(names, numbers.T, strict=True):
        if column.min() == column.max():
            return f"{name} is the same in all rows"
    if not are_apart(numbers[:, :-1] - numbers[:, :-1].mean(axis=0), SAME):
        return f"{', '.join(names[:-1])} cannot be told apart"
    return None


def _formulas(csv: Path, spec: ProgramSpec, table: Table) -> tuple[dict[str, float], dict[str, float]]:
    """The shares of rows in which computed features are not what the spec says, and in which it says nothing."""
    wrong: dict[str, float] = {}
    undefined: dict[str, float] = {}
    for name, text in spec.computed.items():
        formula = expression(text)
        _, numbers = _given(table, [*formula.names, name], np.arange(len(table.rows)))
        if not len(numbers):
            continue
        values, made = numbers[:, -1], formula(dict(zip(formula.names, numbers.T, strict=False)))
        is_defined = np.isfinite(made)
        off = rounding_of(values, most=math.inf) + RELATIVE * np.abs(values)
        broken = float((is_defined & ~(np.abs(made - values) <= off)).mean())
        if broken > MOST_BROKEN:
            raise UsageError(
                f"{csv}: {name} is not `{text}` in {share(broken)} of the rows: correct `computed`, or take it out"
            )
        if not is_defined.any():
            raise UsageError(f"{csv}: `{text}` is defined in no row, so {name} cannot follow from it: take it out")
        wrong |= {name: broken} if broken else {}
        undefined |= {} if is_defined.all() else {name: float(1.0 - is_defined.mean())}
    return wrong, undefined


def _given(table: Table, names: Sequence[str], rows: Indices) -> tuple[Indices, Floats]:
    """The rows that have all of these features, (n,), and their numbers, (n, k)."""
    kept = np.ones(len(rows), dtype=bool)
    for name in names:
        kept &= table.is_given(name)[rows]
    numbers = [[_number(table.rows[row][name]) for name in names] for row in rows[kept]]
    return rows[kept], np.array(numbers).reshape(-1, len(names))


def _number(value: Value) -> float:
    assert not isinstance(value, str), "only numbers follow"
    return float(value)

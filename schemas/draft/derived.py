"""Which columns of numbers follow from others in every row, so that nobody can change them alone.

Copies and multiples of a column; the sum or difference of two; the ratio or product of two times a constant, such as
100 of a percentage; flags of a number above or below a threshold.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..computed import written
from .columns import Column, Floats
from .relations import FEWEST_ROWS, FEWEST_VALUES, SAMPLED, is_no_accident
from .yaml_text import number_text

ROUNDING = 1e-5
"""How far a copy is off at most: a share of what the middle half of the numbers differ."""
ROUNDED = 0.05
"""Up to this share of it, the last decimal of a column may have been rounded."""
MOST_DECIMALS = 12
MOST_WRITTEN = 16
"""Digits of a written factor and constant."""
MOST_DIGITS = 8
"""Digits of a constant that is looked for before any number is one."""
LIKELY = 0.99
"""The least squared correlation of what may be copies, on a few rows."""
WIDER_BY = 1e-9
WIDER = 1.0 + WIDER_BY
"""What is looked for is a little wider than what counts, so that no rounding hides a pair."""
ALONE = "changed alone, it would fit nobody"
OPERATIONS: Mapping[str, np.ufunc] = {"/": np.divide, "*": np.multiply, "+": np.add, "-": np.subtract}


class Follows(NamedTuple):
    """How a column follows from others: in ``words``, and as the ``formula`` of a spec that is made of ``parts``."""

    words: str
    formula: str
    parts: tuple[str, ...]

    @property
    def reason(self) -> str:
        """Why it is no feature, where it is none."""
        return f"{self.words}: {ALONE}"


class Identity(NamedTuple):
    """``column`` is ``first`` ``sign`` ``second``, times ``factor``, in every row, up to ``off``."""

    column: Column
    first: Column
    sign: str
    second: Column
    off: float
    factor: float = 1.0

    def holds(self, first: Floats, second: Floats, made: Floats) -> NDArray[np.bool_]:
        """Whether it does of these numbers of its parts and of its column (n,)."""
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.asarray(np.abs(self.factor * OPERATIONS[self.sign](first, second) - made) <= self.off)

    @property
    def follows(self) -> Follows:
        """How its column follows from the two."""
        first, second = self.first.name, self.second.name
        formula = f"{written(first)} {self.sign} {written(second)}"
        formula += "" if self.factor == 1.0 else f" * {number_text(self.factor)}"
        return Follows(f"it is {self} in every row", formula, (first, second))

    def __str__(self) -> str:
        times = "" if self.factor == 1.0 else f" * {number_text(float(f'{self.factor:.6g}'))}"
        return f"{self.first.name!r} {self.sign} {self.second.name!r}{times}"


def derived(columns: Iterable[Column], doubts: Mapping[str, int]) -> dict[str, Follows]:
    """The columns that follow from others, and how; of several that do, those of more doubt."""
    ordered = sorted(columns, key=lambda column: doubts[column.name])
    found = _copies(ordered)
    kept = [column for column in ordered if column.name not in found]
    found |= _flags(sorted(kept, key=lambda column: (doubts[column.name], column.name)))
    return found | _made_of_two([column for column in kept if column.name not in found], doubts)


def _copies(columns: Iterable[Column]) -> dict[str, Follows]:
    """The columns that follow from an earlier one in a straight line, such as days from months, and how."""
    kept: list[tuple[Column, Floats]] = []
    found: dict[str, Follows] = {}
    for column in columns:
        sample = _numbers(column)[:: max(1, len(column.cells) // SAMPLED)]
        for other, sampled in kept:
            if _may_follow(sampled, sample) and (copied := _copied(column, other)) is not None:
                found[column.name] = copied
                break
        else:
            kept.append((column, sample))
    return found


def _copied(column: Column, other: Column) -> Follows | None:
    both = column.given & other.given
    values, others = _numbers(column)[both], _numbers(other)[both]
    if len(values) < FEWEST_ROWS:
        return None
    x, y = others - others.mean(), values - values.mean()
    factor = float(np.dot(x, y) / np.dot(x, x)) if np.any(x) else 0.0
    size = _spread(values)
    if not factor or np.abs(y - factor * x).max() > ROUNDING * size:
        return None
    offset = float(values.mean() - factor * others.mean())
    times = "" if abs(factor - 1) < ROUNDING else f"{factor:.6g} times "
    plus = "" if abs(offset) <= ROUNDING * size else f" {_signed(f'{abs(offset):.6g}', offset)}"
    formula = _line(written(other.name), values, others, factor, ROUNDING * size)
    return Follows(f"it is {times}{other.name!r}{plus} in every row", formula, (other.name,))


def _line(name: str, values: Floats, others: Floats, factor: float, off: float) -> str:
    """The formula of ``values`` as ``others`` times about ``factor``, and a constant, of as few digits as will do."""
    times, plus = factor, 0.0
    for digits in range(1, MOST_WRITTEN):
        times = float(f"{factor:.{digits}g}")
        left = values - times * others
        plus = 0.0 if np.abs(left).max() <= off else float(f"{float(left.mean()):.{digits}g}")
        if np.abs(left - plus).max() <= off * WIDER:
            break
    formula = name if times == 1.0 else f"{name} * {number_text(times)}"
    return formula if plus == 0.0 else f"{formula} {_signed(number_text(abs(plus)), plus)}"


def _signed(size: str, number: float) -> str:
    return f"{'+' if number > 0 else '-'} {size}"


def _may_follow(first: Floats, second: Floats) -> bool:
    """Whether a few rows, without a value where NaN, do not rule out that one follows from the other."""
    both = ~(np.isnan(first) | np.isnan(second))
    if not both.any():
        return True
    x, y = first[both] - first[both].mean(), second[both] - second[both].mean()
    return bool(np.dot(x, y) ** 2 >= LIKELY * np.dot(x, x) * np.dot(y, y))


def _flags(columns: Sequence[Column]) -> dict[str, Follows]:
    """The columns of 0 and 1 that say whether a number reaches a threshold, and how."""
    flags = [column for column in columns if np.array_equal(np.unique(column.values), (0, 1))]
    numbers = _of_many_values(columns)
    found: dict[str, Follows] = {}
    for flag in flags:
        flagged = (follows for number in numbers if (follows := _flagged(flag, number)) is not None)
        if (first := next(flagged, None)) is not None:
            found[flag.name] = first
    return found


def _flagged(flag: Column, number: Column) -> Follows | None:
    both = flag.given & number.given
    is_set, values = _numbers(flag)[both] == 1, _numbers(number)[both]
    share = float(is_set.mean()) if len(values) else 0.0
    if len(values) < FEWEST_ROWS or not is_no_accident(2 * share * (1 - share), len(values)):
        return None
    inside, outside = values[is_set], values[~is_set]
    if inside.min() > outside.max():
        return _of_flag(number.name, "at least", ">=", inside.min().item())
    if inside.max() < outside.min():
        return _of_flag(number.name, "below", "<", outside.min().item())
    return None


def _of_flag(name: str, words: str, sign: str, threshold: float) -> Follows:
    reason = f"it is 1 exactly where {name!r} is {words} {threshold:.6g}"
    return Follows(reason, f"{written(name)} {sign} {number_text(threshold)}", (name,))


def _made_of_two(columns: Iterable[Column], doubts: Mapping[str, int]) -> dict[str, Follows]:
    """The columns that two others make, and how."""
    found: dict[str, Identity] = {}
    for identity in sorted(identities(columns), key=lambda identity: _rank(identity, doubts)):
        name, operands = identity.column.name, (identity.first.name, identity.second.name)
        if name not in found and not any(_rests_on(name, operand, found) for operand in operands):
            found[name] = identity
    return {name: identity.follows for name, identity in found.items()}


def _rank(identity: Identity, doubts: Mapping[str, int]) -> tuple[bool | int | float | str, ...]:
    """The lower, the rather its column is computed. Of a * b = c all three follow from the other two.

    Of a + b = c it is the total, or a balance below 0 in some row, whatever is known of the parts: computed from the
    total, one part would grow when another is made smaller. Of others it is the one of most doubt.
    """
    column, first, sign, second, *_ = identity
    is_ratio = sign == "/" and not column.is_whole
    low, high = float(column.values.min()), float(column.values.max())
    names = (column.name, first.name, second.name)
    is_part = sign in "+-" and low >= 0, sign == "-"
    return not is_ratio, *is_part, -doubts[column.name], low >= 0, sign in "/-", max(-low, high), *names


def _rests_on(name: str, operand: str, found: Mapping[str, Identity]) -> bool:
    """Whether an operand is, or follows by what was found from, the column ``name``."""
    if operand == name or operand not in found:
        return operand == name
    return any(_rests_on(name, other.name, found) for other in (found[operand].first, found[operand].second))


def identities(columns: Iterable[Column]) -> Iterator[Identity]:
    """The columns of numbers that are the sum or difference of two others in every row, or a multiple of their ratio or
    product."""
    numbers = sorted(_of_many_values(columns), key=lambda column: column.name)
    if not numbers or len(numbers[0].cells) < FEWEST_ROWS:
        return
    off = [_rounding(column) for column in numbers]
    with np.errstate(divide="ignore", invalid="ignore"):
        for made, first, sign, second in _suspects(numbers, off):
            identity = Identity(numbers[made], numbers[first], sign, numbers[second], off[made])
            identity = identity if sign in "+-" else identity._replace(factor=_factor(identity))
            if _holds(identity):
                yield identity


def _factor(identity: Identity) -> float:
    """The shortest number that a ratio or product may be multiplied by in every row: 1 if it can be; NaN for none."""
    column, first, sign, second, off, _ = identity
    low, high = _factors(OPERATIONS[sign](_numbers(first), _numbers(second)), _numbers(column), off)
    least, most = np.fmax.reduce(low), np.fmin.reduce(high)
    if least <= 1.0 <= most:
        return 1.0
    middle = float(least + most) / 2 if least <= most else np.nan
    shortest = (float(f"{middle:.{digits}g}") for digits in range(1, MOST_DIGITS))
    return next((factor for factor in shortest if least <= factor <= most), middle)


def _factors(values: Floats, made: Floats | float, off: float) -> tuple[Floats, Floats]:
    """The least and the largest number by which each value is ``made``, up to ``off``."""
    one, other = (made - off) / values, (made + off) / values
    return np.minimum(one, other), np.maximum(one, other)


def _suspects(columns: Sequence[Column], off: Sequence[float]) -> Iterator[tuple[int, int, str, int]]:
    """The identities that a few rows do not rule out, by the numbers of their columns."""
    sample = np.array([_numbers(column)[:: max(1, len(column.cells) // SAMPLED)] for column in columns])
    for made, values in enumerate(sample):
        # The largest first: many columns may be mostly 0.
        rows = np.argsort(-np.abs(values)).tolist()
        pairs = _near_sums(sample[:, rows[0]], values[rows[0]], off[made])
        pairs |= _near_products(sample[:, rows[:2]], values[rows[:2]], off[made])
        for sign, near in pairs.items():
            near = near[(near != made).all(axis=1) & (near[:, 0] != near[:, 1])]
            near = near if sign in "/-" else near[near[:, 0] < near[:, 1]]
            least, most = np.full(len(near), -np.inf), np.full(len(near), np.inf)
            for row in rows:
                if not len(near):
                    break
                numbers = OPERATIONS[sign](*sample[near.T, row])
                if sign in "+-":
                    kept = ~(np.abs(numbers - values[row]) > off[made])
                else:
                    low, high = _factors(numbers, values[row], off[made])
                    least, most = np.fmax(least, low), np.fmin(most, high)
                    kept = least <= most
                near, least, most = near[kept], least[kept], most[kept]
            yield from ((made, first, sign, second) for first, second in near.tolist())


def _near_sums(numbers: Floats, made: float, off: float) -> dict[str, NDArray[np.intp]]:
    """By operation, the pairs (first, second) of these numbers (k,) that may make ``made``, up to ``off``, each (m, 2).

    They are found in the sorted numbers: all pairs of a thousand columns would be too many. A few more may be among
    them; a number that is not known may make anything.
    """
    order, known = _known(numbers)
    below, above = (made - off * WIDER, made + off * WIDER)
    pairs = {
        "+": _pairs_between(known, below - known, above - known),
        "-": _pairs_between(known, known - above, known - below),
    }
    return _with_unknown({sign: order[found] for sign, found in pairs.items()}, numbers)


def _near_products(numbers: Floats, made: Floats, off: float) -> dict[str, NDArray[np.intp]]:
    """The same of products and ratios times any constant, of the numbers (k, 2) in two rows of ``made`` (2,).

    The constant is no part of how many times as large the one row is as the other. No number of a pair is 0 in a row
    where what it makes is not.
    """
    if not np.abs(made).min() > off * WIDER:
        return {}
    ends = np.divide.outer(made[0] + np.array([-off, off]) * WIDER, made[1] + np.array([-off, off]) * WIDER)
    below, above = ends.min(), ends.max()
    times = np.where((numbers == 0).any(axis=1), 0, numbers[:, 0] / numbers[:, 1])
    order, known = _known(np.where(times == 0, np.nan, times))
    pairs = {
        "*": _pairs_between(known, below / known, above / known),
        "/": _pairs_between(known, below * known, above * known)[:, ::-1],
    }
    return _with_unknown({sign: order[found] for sign, found in pairs.items()}, times)


def _known(numbers: Floats) -> tuple[NDArray[np.intp], Floats]:
    """The places of the numbers that are known, in their order, and these numbers."""
    order = np.argsort(numbers)
    order = order[: int((~np.isnan(numbers)).sum())]
    return order, numbers[order]


def _with_unknown(pairs: Mapping[str, NDArray[np.intp]], numbers: Floats) -> dict[str, NDArray[np.intp]]:
    """The pairs, and those with a number that is not known."""
    either = _all(np.flatnonzero(np.isnan(numbers)), len(numbers))
    return {sign: np.concatenate([found, either, either[:, ::-1]]) for sign, found in pairs.items()}


def _pairs_between(ordered: Floats, one: Floats, other: Floats) -> NDArray[np.intp]:
    """The pairs (i, j) with the j-th of the ordered numbers between the i-th ends; none where these are NaN."""
    margin = WIDER_BY * np.maximum(np.abs(one), np.abs(other))
    start = np.searchsorted(ordered, np.minimum(one, other) - margin, side="left")
    end = np.searchsorted(ordered, np.maximum(one, other) + margin, side="right")
    counts = np.where(np.isnan(margin), 0, end - start)
    first = np.repeat(np.arange(len(counts)), counts)
    place = np.arange(len(first)) - np.repeat(np.cumsum(counts) - counts, counts)
    return np.column_stack([first, np.repeat(start, counts) + place])


def _all(first: NDArray[np.intp], count: int) -> NDArray[np.intp]:
    """Every pair of the first numbers and one below ``count``."""
    return np.column_stack([np.repeat(first, count), np.tile(np.arange(count), len(first))])


def _holds(identity: Identity) -> bool:
    """Whether it does in every row, and would not if the rows of one of the three were shuffled."""
    column, first, _, second, *_ = identity
    given = column.given & first.given & second.given
    parts = [_numbers(part)[given] for part in (first, second, column)]
    rows = len(parts[0])

    def broken(first: Floats, second: Floats, made: Floats) -> float:
        return float((~identity.holds(first, second, made)).mean())

    if rows < FEWEST_ROWS or broken(*parts):
        return False
    shuffled = np.random.default_rng(0).permutation(rows)
    return all(
        is_no_accident(broken(*(part[shuffled] if part is other else part for part in parts)), rows) for other in parts
    )


def _rounding(column: Column) -> float:
    """How far a column may be off what it is made of."""
    return rounding_of(column.values, most=ROUNDED)


def rounding_of(values: Floats, *, most: float) -> float:
    """How far numbers (n,) may be off what they are made of, by rounding.

    A last decimal counts up to the share ``most`` of what the middle half of them differ.
    """
    size, half = _spread(values), _half_of_last_decimal(values)
    return max(half if half <= most * size else 0.0, ROUNDING * size)


def _half_of_last_decimal(values: Floats) -> float:
    decimals = range(MOST_DECIMALS)
    last = next((0.1**n for n in decimals if np.allclose(values, values.round(n), rtol=1e-12, atol=0)), 0.0)
    return last / 2 * (1 + ROUNDING)


def _spread(values: Floats) -> float:
    """What the middle half of the numbers differ, or the least that two do."""
    low, high = np.quantile(values, [0.25, 0.75]).tolist()
    return float(high - low if high > low else np.diff(np.unique(values)).min(initial=np.inf))


def _of_many_values(columns: Iterable[Column]) -> list[Column]:
    return [column for column in columns if len(np.unique(column.values)) >= FEWEST_VALUES]


def _numbers(column: Column) -> Floats:
    assert column.numbers is not None, "columns of numbers only"
    return column.numbers

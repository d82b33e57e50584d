"""What a cell means: the value of a feature that stands in an event, a file or a data frame.

    CellReader(feature).value(1.0)        # "1", of a feature with the categories "1" to "4"
    CellReader(feature).of_text("2 170")  # 2170, of a number

A cell without a value gives None, be it empty, null, a word such as NA, or what the spec lists as ``not_given``.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping

from .events import Value
from .normal_form import normal_form
from .not_given import is_not_given
from .number_text import number
from .spec import Feature, Label

WHOLE = re.compile(r"([-+]?[0-9]{1,15})\.0+")
"""A whole number as programs write it that know no empty cell among whole numbers."""
MOST_BITS = 64
"""Of a whole number. Python writes no text of very large ones, and none of them is a value."""
TRUTHS: Mapping[str, int] = {"false": 0, "true": 1}
"""What programs write for a flag, in lower case, and the number that it is."""


class CellReader:
    """Reads the cells of one feature. What is no value of it is left as it is, for whoever checks it."""

    def __init__(self, feature: Feature) -> None:
        self._values = frozenset(feature.values)
        self._by_meaning = _by_meaning(feature.values)
        self._codes = frozenset(map(meaning, map(_in_normal_form, feature.not_given)))
        self._is_number, self._is_whole = feature.bounds is not None, feature.type == "integer"
        low, high = feature.bounds or (0.0, 0.0)
        self._is_flag = self._is_whole and low >= 0 and high <= 1

    def value(self, cell: object) -> object:
        """The value of a cell that has a type, such as one of JSON; None where it is not given."""
        if not isinstance(cell, int | float | str) or (isinstance(cell, int) and cell.bit_length() > MOST_BITS):
            return cell
        if isinstance(cell, str) and cell in self._values:
            return cell
        if self._is_number and not self._codes and type(cell) in (int, float):
            return cell
        plain = meaning(cell)
        if plain in self._codes:
            return None
        if not self._is_number and plain in self._by_meaning:
            return self._by_meaning[plain]
        if isinstance(cell, str) and is_not_given(cell):
            return None
        return int(cell) if isinstance(cell, bool) and self._is_flag else cell

    def of_text(self, text: str) -> Value | None:
        """The value of a cell of a file, which is text."""
        text = text.strip()
        cell: Value | bool = text
        if self._is_number and not is_not_given(text):
            cell = number(text)
            if isinstance(cell, str) and cell.lower() in TRUTHS:
                cell = bool(TRUTHS[cell.lower()])
            elif isinstance(cell, float) and self._is_whole and cell.is_integer():
                cell = int(cell)
        value = self.value(cell)
        assert value is None or isinstance(value, int | float | str), "texts and numbers are read as such"
        return text if isinstance(value, bool) else value


class LabelReader:
    """Reads the cells of the label's column, which are texts."""

    def __init__(self, label: Label) -> None:
        self.desired = label.desired
        self._codes = frozenset(map(meaning, map(_in_normal_form, label.not_given)))
        plain = meaning(label.desired)
        flag = TRUTHS.get(plain, plain)
        self._desired = {plain, *(truth for truth, value in TRUTHS.items() if str(value) == str(flag)), str(flag)}

    def is_desired(self, cell: str) -> bool:
        """Whether a cell has the desired value, however it is written."""
        cell = cell.strip()
        return meaning(cell if isinstance(self.desired, str) else number(cell)) in self._desired

    def is_misspelled(self, cell: str) -> bool:
        """Whether a cell that has not the desired value seems to mean it: only the case of its letters differs."""
        return cell.strip().casefold() == str(self.desired).strip().casefold() and not self.is_desired(cell)

    def is_given(self, cell: str) -> bool:
        """Whether anybody knows yet what came of this row."""
        plain = {meaning(normal_form(cell)), meaning(number(cell.strip()))}
        return plain.isdisjoint(self._codes) and (self.is_desired(cell) or not is_not_given(cell))


def meaning(cell: Value) -> str:
    """What a value says, however it is written: 1, 1.0 and "1.0" are "1", True and "TRUE" are "true"."""
    if isinstance(cell, float):
        return str(int(cell)) if cell.is_integer() else repr(cell)
    text = str(cell).strip()
    if whole := WHOLE.fullmatch(text):
        return str(int(whole[1]))
    return text.lower() if text.lower() in TRUTHS else text


def _by_meaning(values: tuple[str, ...]) -> dict[str, str]:
    """The values by what they say, where no other says the same; those of a flag also by 0 and 1, or true and false."""
    meanings = [meaning(value) for value in values]
    counts = Counter(meanings)
    found = {plain: value for plain, value in zip(meanings, values, strict=True) if counts[plain] == 1}
    digits = {truth: str(flag) for truth, flag in TRUTHS.items()}
    if found.keys() == set(digits.values()):
        found |= {truth: found[digit] for truth, digit in digits.items()}
    elif found.keys() == digits.keys():
        found |= {digit: found[truth] for truth, digit in digits.items()}
    return found


def codes_within(feature: Feature) -> frozenset[float]:
    """The numbers within the bounds of a feature that stand for no value."""
    low, high = feature.bounds or (0.0, -1.0)
    return frozenset(float(code) for code in feature.not_given if not isinstance(code, str) and low <= code <= high)


def _in_normal_form(value: Value) -> Value:
    return normal_form(value) if isinstance(value, str) else value


def is_flag(text: str, value: int) -> bool:
    """Whether a cell of a column of flags says 0 or 1."""
    plain = meaning(text)
    return plain == str(value) or TRUTHS.get(plain) == value

"""Numbers as people and programs write them in a file, and which of them may be read in two ways."""

from __future__ import annotations

import re
from collections.abc import Container, Iterable

from .not_given import is_not_given

SPACED = re.compile(r"[-+]?[1-9][0-9]{0,2}([ '\u2019\u00a0\u2009\u202f][0-9]{3})+(\.[0-9]+)?")
"""A number whose thousands are set apart by spaces or apostrophes, which mean nothing else."""
_SPACE = re.compile(r"[ '\u2019\u00a0\u2009\u202f]")
COMMAS = re.compile(r"[-+]?[1-9][0-9]{0,2}(,[0-9]{3})+(\.[0-9]+)?")
"""A number whose commas may separate thousands."""
DECIMAL_COMMA = re.compile(r"[-+]?([0-9]*|[1-9][0-9]{0,2}([. '\u2019\u00a0\u2009\u202f][0-9]{3})+),[0-9]+")
DOTTED = re.compile(r"[-+]?[1-9][0-9]{0,2}(\.[0-9]{3})+")
"""A number whose dot may separate thousands."""
BELOW_THOUSAND = re.compile(r"[-+]?[0-9]{1,3}")
"""A number that says nothing of how thousands are written."""


def number(text: str) -> int | float | str:
    """A cell as a number when it is one (an int when it is written as one), else the text itself."""
    if "_" in text:
        return text
    plain = _SPACE.sub("", text) if SPACED.fullmatch(text.strip()) else text
    for kind in (int, float):
        try:
            return kind(plain)
        except ValueError:
            continue
    return text


def first_dotted(cells: Iterable[str], codes: Container[float] = ()) -> int | None:
    """The number of the first cell whose dot may separate thousands, or be a decimal point; None where it is clear.

    It is clear where another number has a dot and not three digits behind it, or four digits and no dot. Texts,
    ``codes`` and cells without a value say nothing.

    Examples
    --------
    >>> first_dotted(["890", "2.170"]), first_dotted(["0.170", "2.170"]), first_dotted(["1200", "2.170"])
    (1, None, None)
    """
    found = None
    for index, cell in enumerate(map(str.strip, cells)):
        if DOTTED.fullmatch(cell):
            found = index if found is None else found
        elif not is_not_given(cell) and not BELOW_THOUSAND.fullmatch(cell):
            value = number(cell)
            if not isinstance(value, str) and value not in codes:
                return None
    return found


def may_have_thousands(text: str) -> bool:
    """Whether the dot of a number may separate thousands."""
    return bool(DOTTED.fullmatch(text))


def not_a_number(text: str, *, is_shown: bool = True) -> str:
    """What is wrong with a text that is no plain number, and what to do. Others are not shown its own digits."""
    if DOTTED.fullmatch(text):
        shown = text if is_shown else "1.200"
        whole = shown.replace(".", "")
        return f"has a dot: write {whole} if that of {shown} separates thousands, {shown}0 if it is a decimal point"
    if COMMAS.fullmatch(text):
        return "has a comma: write 1200 if 1,200 has a thousands separator, 1.2 if a decimal comma"
    if DECIMAL_COMMA.fullmatch(text):
        return "has a decimal comma: write a decimal point"
    return "is not a number"

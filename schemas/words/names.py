"""Names of columns as people read them, where nobody has given a better one."""

from __future__ import annotations

import re

_APART = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
"""Where a word of a name in camel case begins."""
_SEPARATORS = re.compile(r"[\s_.]+")


def readable(name: str) -> str:
    """The words of a column's name, set apart; what is written in capitals stays so.

    Examples
    --------
    >>> readable("monthly_income"), readable("MostRecentBillAmount"), readable("status.of_checking"), readable("LTV")
    ('monthly income', 'most recent bill amount', 'status of checking', 'LTV')
    >>> readable("savings"), readable("Age_lt_40"), readable("tiempo de empleo")
    ('savings', 'age lt 40', 'tiempo de empleo')
    """
    words = [word for word in _SEPARATORS.split(_APART.sub(" ", name)) if word]
    if not words:
        return name
    return " ".join(word if len(word) > 1 and word.isupper() else word.lower() for word in words)


def readable_category(name: str) -> str:
    """A category in the letters of the data: it may be a name."""
    return " ".join(name.replace("_", " ").split()) or name


def capitalised(text: str) -> str:
    """The text with a capital first letter.

    Examples
    --------
    >>> capitalised("save more"), capitalised("LTV")
    ('Save more', 'LTV')
    """
    return text[:1].upper() + text[1:]

"""Numbers, money and dates as a language writes them.

Babel says how: its patterns are taken apart once, since filling them in takes it some twenty microseconds a number.
No mark of direction is written: in a text each number stands between words, and a page isolates it by its own means.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from datetime import date
from decimal import Decimal
from functools import lru_cache
from typing import TYPE_CHECKING

from msgspec import UNSET

from .form import Forms, ValueKind

if TYPE_CHECKING:
    from babel import Locale

Format = Callable[[float], str]
Written = Callable[[str], str]
"""Writes a number, given as in English: 1,234.5."""
DIGITS = 10
"""Significant digits of a number that is told."""
KEPT = 1024
"""Numbers of one kind whose text is kept."""
UNIT_PATTERN = "#,##0.##########"
USUAL = (3, 3)
"""Digits between the separators of most languages."""
_DECIMALS = re.compile(r"[.]0+")
_MARKS = dict.fromkeys(map(ord, "\u200e\u200f\u061c"))
"""Marks of direction, which some patterns hold."""


def locale_of(tag: str) -> Locale:
    """What Babel knows of a language; raise ``ValueError`` where it knows nothing."""
    # Imported late: few commands put anything into words, and it takes some 50 ms.
    from babel import Locale, UnknownLocaleError

    try:
        return Locale.parse(tag, sep="-")
    except UnknownLocaleError:
        raise ValueError(f"{tag} is no language that Babel knows") from None


def said(value: float, target: float) -> float:
    """A person's own number as it is said beside a target: what is measured has more digits than anybody names.

    Examples
    --------
    >>> said(31.99257813, 27.2), said(1567.0, 1400.0), said(0.123456, 0.2), said(27.201, 27.2)
    (31.99, 1567.0, 0.123, 27.201)
    """
    brief = round(value, 2) if abs(value) >= 1 else float(f"{value:.3g}")
    is_on_its_side = brief < target if value < target else brief > target
    return brief if is_on_its_side else value


def number_format(locale: Locale, kind: ValueKind, percent: str) -> Format:
    """What writes the numbers of a kind; ``percent`` is the language's sentence for ``{number} of 100``."""
    times, plain = Decimal(f"{kind.times:.{DIGITS}g}"), _plain(locale)
    if kind.money is not UNSET:
        written = _money(locale, kind.money, plain)
    elif kind.unit is not UNSET:
        written = _unit(locale, kind.unit)
    elif kind.percent:
        written = _filled(locale, percent, plain)
    elif kind.text is not UNSET:
        written = _filled(locale, kind.text, plain)
    else:
        written = plain

    def of_value(value: float) -> str:
        english = f"{value:,.{DIGITS}g}" if kind.times == 1.0 else "e"
        if "e" in english:
            exact = f"{Decimal(f'{value:.{DIGITS}g}') * times:,f}"
            english = exact.rstrip("0").rstrip(".") if "." in exact else exact
        return written(english)

    return lru_cache(KEPT)(of_value)


def form_of(forms: Mapping[str, str], locale: Locale, number: Decimal) -> str:
    """The phrase for a number: of its plural form, else that of the form ``other``."""
    return forms.get(locale.plural_form(number)) or forms["other"]


def date_format(locale: Locale) -> Callable[[date], str]:
    """What writes dates out, without the day of the week."""
    from babel.dates import format_date

    return lambda day: format_date(day, "long", locale=locale)


def enumeration(locale: Locale, parts: Sequence[str]) -> str:
    """Several phrases as one, as in "earn more and save more"."""
    from babel.lists import format_list

    return str(format_list(list(parts), locale=locale))


def has_currency(code: str) -> bool:
    """Whether Babel knows a currency."""
    from babel.numbers import is_currency

    return is_currency(code)


def has_unit(locale: Locale, unit: str) -> bool:
    """Whether Babel knows a unit."""
    from babel.units import UnknownUnitError, get_unit_name

    try:
        return get_unit_name(unit, locale=locale) is not None
    except UnknownUnitError:
        return False


def _plain(locale: Locale) -> Written:
    symbols = {name: sign.translate(_MARKS) for name, sign in locale.number_symbols["latn"].items()}
    group, decimal, minus = (symbols[name] for name in ("group", "decimal", "minusSign"))
    is_usual = locale.decimal_formats[None].grouping == USUAL

    def written(english: str) -> str:
        whole, point, rest = english.partition(".")
        grouped = whole.replace(",", group) if is_usual else _by_babel(_number(whole), locale)
        number = f"{grouped}{decimal}{rest}" if point else grouped
        return f"{minus}{number[1:]}" if number[0] == "-" else number

    return written


def _number(english: str) -> Decimal:
    return Decimal(english.replace(",", ""))


def _by_babel(number: Decimal, locale: Locale) -> str:
    from babel.numbers import format_decimal

    return format_decimal(number, locale=locale).translate(_MARKS)


def _money(locale: Locale, currency: str, plain: Written) -> Written:
    """Amounts: whole ones without decimals, others with as many as the currency has, or more."""
    from babel.numbers import format_currency, get_currency_precision

    digits = get_currency_precision(currency)
    pattern = _DECIMALS.sub("", locale.currency_formats["standard"].pattern)
    around = [
        format_currency(sign, currency, pattern, locale, currency_digits=False).translate(_MARKS).split("1")
        for sign in (1, -1)
    ]

    def written(english: str) -> str:
        whole, point, rest = english.partition(".")
        before, behind = around[whole[0] == "-"]
        amount = f"{whole}.{rest.ljust(digits, '0')}" if point else whole
        return f"{before}{plain(amount.lstrip('-'))}{behind}"

    return written


def _unit(locale: Locale, unit: str) -> Written:
    from babel.units import format_unit

    return lambda english: str(format_unit(_number(english), unit, "long", UNIT_PATTERN, locale)).translate(_MARKS)


def _filled(locale: Locale, forms: Forms, plain: Written) -> Written:
    if isinstance(forms, str):
        return lambda english: forms.format(number=plain(english))
    return lambda english: form_of(forms, locale, _number(english)).format(number=plain(english))

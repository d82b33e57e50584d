"""Numbers as languages write them. What changes here changes what people were told: count the engine up."""

from datetime import date

import pytest
from hypothesis import given
from hypothesis import strategies as st

from onward.schemas.words.form import ValueKind
from onward.schemas.words.numbers import date_format, locale_of, number_format, said

EURO = ValueKind(money="EUR")


PLAIN = ValueKind()


def written(tag, value, kind=PLAIN, percent="{number} of 100"):
    return number_format(locale_of(tag), kind, percent)(value)


@pytest.mark.parametrize(
    ("tag", "amounts", "months", "day"),
    [
        ("en", ["€2,640", "€1,234,567.50", "-€3", "€0.10"], "24 months", "November 30, 2026"),
        ("en-GB", ["€2,640", "€1,234,567.50", "-€3", "€0.10"], "24 months", "30 November 2026"),
        ("de", ["2.640\xa0€", "1.234.567,50\xa0€", "-3\xa0€", "0,10\xa0€"], "24 Monate", "30. November 2026"),
        (
            "fr",
            ["2\u202f640\xa0€", "1\u202f234\u202f567,50\xa0€", "-3\xa0€", "0,10\xa0€"],
            "24\xa0mois",
            "30 novembre 2026",
        ),
        ("ar", ["2,640\xa0€", "1,234,567.50\xa0€", "-3\xa0€", "0.10\xa0€"], "24 شهرًا", "30 نوفمبر 2026"),
        ("hi", ["€2,640", "€12,34,567.50", "-€3", "€0.10"], "24 महीने", "30 नवंबर 2026"),
    ],
)
def test_each_language_writes_money_units_and_dates_in_its_way(tag, amounts, months, day):
    assert [written(tag, value, EURO) for value in (2640, 1234567.5, -3, 0.1)] == amounts
    assert written(tag, 24, ValueKind(unit="duration-month")) == months
    assert date_format(locale_of(tag))(date(2026, 11, 30)) == day


def test_a_number_has_the_digits_that_were_given_and_no_exponent():
    assert [written("en", value) for value in (0.1 + 0.2, 1e12, 12345.678, 5, 5.0)] == [
        "0.3",
        "1,000,000,000,000",
        "12,345.678",
        "5",
        "5",
    ]


def test_kinds_say_what_a_number_is_of():
    assert written("de", 0.813, ValueKind(percent=True, times=100), "{number} von 100") == "81,3 von 100"
    cards = ValueKind(text={"one": "{number} card", "other": "{number} cards"})
    assert [written("en", count, cards) for count in (1, 2)] == ["1 card", "2 cards"]
    assert written("en", 3, ValueKind(money="JPY", times=1000)) == "¥3,000"


def test_a_language_that_nobody_knows_is_an_error():
    with pytest.raises(ValueError, match="xx is no language"):
        locale_of("xx")


@given(st.floats(-1e9, 1e9), st.floats(-1e9, 1e9))
def test_a_persons_own_number_stays_on_its_side_of_the_target(value, target):
    brief = said(value, target)
    assert brief == value or (brief < target) == (value < target)


@given(st.integers(-(10**9), 10**9))
def test_whole_numbers_are_read_back(value):
    assert int(written("de", value).replace(".", "")) == value

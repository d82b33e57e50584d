"""Names of columns without a better name."""

from hypothesis import given
from hypothesis import strategies as st

from onward.schemas.words.names import readable, readable_category


@given(st.text(min_size=1))
def test_a_readable_name_is_never_empty_and_stays_as_it_is_when_read_again(name):
    once = readable(name)
    assert once
    assert readable(once).lower() == readable(readable(once)).lower()


def test_a_name_is_words():
    assert readable("monthly_income") == "monthly income"
    assert readable("MaxBillAmount") == "max bill amount"
    assert readable("BMI") == "BMI"


def test_a_category_keeps_the_letters_of_the_data():
    assert readable_category("Lakisha") == "Lakisha"
    assert readable_category("own_house") == "own house"
    assert readable_category("<20.5k") == "<20.5k"
    assert readable_category("_") == "_"

"""Normal form C, also of texts that are made to take long."""

from __future__ import annotations

import sys
import unicodedata
from itertools import pairwise

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from onward.schemas import normal_form as module
from onward.schemas.normal_form import MOST_EXPANSION, json_in_normal_form, normal_form

LONGEST = 200
MARKS = "\u0301\u0316\u0327\u0308\u0344\u1dce\u0f71\u0f73\u0f81"
"""Combining characters of several classes; one is two in normal form."""


@given(st.text(st.sampled_from("aeE\u00e9\u1e69" + MARKS), min_size=65, max_size=200) | st.text())
def test_it_is_that_of_the_standard_library(text):
    assert normal_form(text) == unicodedata.normalize("NFC", text)


def test_a_character_is_never_written_with_more():
    assert max(len(unicodedata.normalize("NFD", chr(code))) for code in range(sys.maxunicode + 1)) == MOST_EXPANSION


def test_the_characters_that_are_only_combining_characters_are_known():
    every = {
        code: unicodedata.normalize("NFD", chr(code))
        for code in range(sys.maxunicode + 1)
        if unicodedata.decomposition(chr(code)) and chr(code) != unicodedata.normalize("NFD", chr(code))
    }
    assert {code: text for code, text in every.items() if len(text) > 1 and all(map(unicodedata.combining, text))} == (
        module._OUT_OF_ORDER
    )


@pytest.fixture
def normalised(monkeypatch):
    """The texts that the standard library was asked to normalise."""
    texts = []
    normalize = unicodedata.normalize
    monkeypatch.setattr(module.unicodedata, "normalize", lambda form, text: texts.append(text) or normalize(form, text))
    return texts


@pytest.mark.parametrize("text", ["\u0301" * 130_000, "\u0301" * 65_000 + "\u0316" * 65_000], ids=["sorted", "not"])
def test_a_text_longer_than_any_name_is_left_as_it_is(normalised, text):
    value = msgspec.json.encode({"application": text})
    assert json_in_normal_form(value, LONGEST) == value
    assert normalised == []


@pytest.mark.parametrize("length", [LONGEST, LONGEST + 1])
def test_a_name_may_be_as_long_as_it_is_in_normal_form(length):
    # Each letter is four characters here, and one in normal form.
    value = msgspec.json.encode({"application": unicodedata.normalize("NFD", "\u1f82" * length)})
    normal = msgspec.json.decode(json_in_normal_form(value, LONGEST))["application"]
    assert (normal == "\u1f82" * length) == (length <= LONGEST)


def test_what_is_normalised_is_in_canonical_order_already(normalised):
    normal_form("a" + MARKS * 40 + "b" + MARKS[::-1] * 40)
    [text] = normalised
    classes = [unicodedata.combining(character) for character in text]
    assert all(before <= after or after == 0 for before, after in pairwise(classes))

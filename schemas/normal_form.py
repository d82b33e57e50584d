"""Unicode's normal form C: letters that print the same are then the same text.

An accented letter may be one character, or a letter and a combining accent (form D, as some keyboards and file systems
make it). Event texts are brought into form C; a spec keeps its spelling and is compared in form C.
"""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache, partial
from itertools import groupby

import msgspec

from .problems import JSON_ERRORS

_STRING = re.compile(rb'"[^"\\]*+(?:\\.[^"\\]*+)*+"?', re.DOTALL)
"""A string of JSON, or one without an end: else each quotation mark in it would be tried as the beginning of one."""
_ESCAPE = b"\\"
_CACHED_BYTES = 200
"""A longer string is not a name that comes again."""
_SHORT_CHARACTERS = 64
_OUT_OF_ORDER = {code: unicodedata.normalize("NFD", chr(code)) for code in (0x0344, 0x0F73, 0x0F75, 0x0F81)}
"""The characters that decompose into combining characters only. Unicode promises that there will be no more."""
MOST_EXPANSION = 4
"""The most characters that one of normal form C may be written with."""


def normal_form(text: str) -> str:
    """The text in normal form C; a text that is already in it is returned as it is."""
    if text.isascii():
        return text
    return unicodedata.normalize("NFC", text if len(text) <= _SHORT_CHARACTERS else _in_canonical_order(text))


def _in_canonical_order(text: str) -> str:
    """The same text, each run of combining characters in its canonical order (UAX 15).

    ``unicodedata`` sorts them too, in quadratic time: 260 kB of them took it 19 s.
    """
    text = text.translate(_OUT_OF_ORDER)
    runs = groupby(text, key=lambda character: unicodedata.combining(character) > 0)
    return "".join(["".join(sorted(run, key=unicodedata.combining) if combining else run) for combining, run in runs])


def json_in_normal_form(value: bytes, longest_name: int) -> bytes:
    """A JSON text whose strings are in normal form C. Those that are already, and everything else, keep their bytes.

    So does a string that in normal form has more than ``longest_name`` characters whatever it holds: it names nothing.
    What is not JSON in UTF-8 is returned as it is.
    """
    is_escaped = _ESCAPE in value
    if value.isascii() and not is_escaped:
        return value
    try:
        # Every part of a text in normal form is in normal form.
        if not is_escaped and unicodedata.is_normalized("NFC", value.decode()):
            return value
        return _STRING.sub(partial(_normal_string, MOST_EXPANSION * longest_name), value)
    except JSON_ERRORS:
        return value


def _normal_string(most_characters: int, match: re.Match[bytes]) -> bytes:
    literal = match[0]
    if literal.isascii() and _ESCAPE not in literal:
        return literal
    normalise = _normal_literal if len(literal) <= _CACHED_BYTES else _normal_literal.__wrapped__
    return normalise(literal, most_characters)


@lru_cache(4096)
def _normal_literal(literal: bytes, most_characters: int) -> bytes:
    text: str = msgspec.json.decode(literal)
    if len(text) > most_characters:
        return literal
    normal = normal_form(text)
    return literal if normal == text else msgspec.json.encode(normal)

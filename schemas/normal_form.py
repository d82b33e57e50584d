"""Unicode's normal form C: letters that print the same are then the same text.

An accented letter may be one character, or a letter and a combining accent (form D, as some keyboards and file systems
make it). Event texts are brought into form C; a spec keeps its spelling and is compared in form C.
"""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache

import msgspec

from .problems import JSON_ERRORS

_STRING = re.compile(rb'"(?:[^"\\]|\\.)*"', re.DOTALL)
_ESCAPE = b"\\"
_CACHED_BYTES = 200
"""A longer string is not a name that comes again."""


def normal_form(text: str) -> str:
    """The text in normal form C; a text that is already in it is returned as it is."""
    return text if text.isascii() else unicodedata.normalize("NFC", text)


def json_in_normal_form(value: bytes) -> bytes:
    """A JSON text whose strings are in normal form C. Those that are already, and everything else, keep their bytes.

    What is not JSON in UTF-8 is returned as it is.
    """
    is_escaped = _ESCAPE in value
    if value.isascii() and not is_escaped:
        return value
    try:
        # Every part of a text in normal form is in normal form.
        if not is_escaped and unicodedata.is_normalized("NFC", value.decode()):
            return value
        return _STRING.sub(_normal_string, value)
    except JSON_ERRORS:
        return value


def _normal_string(match: re.Match[bytes]) -> bytes:
    literal = match[0]
    if literal.isascii() and _ESCAPE not in literal:
        return literal
    return _normal_literal(literal) if len(literal) <= _CACHED_BYTES else _normal_literal.__wrapped__(literal)


@lru_cache(4096)
def _normal_literal(literal: bytes) -> bytes:
    text: str = msgspec.json.decode(literal)
    normal = normal_form(text)
    return literal if normal == text else msgspec.json.encode(normal)

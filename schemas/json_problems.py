"""What is wrong with a JSON text, where msgspec does not tell: repeated keys, and what malformed bytes are."""

from __future__ import annotations

import json
import re
from typing import Any

_KEY = re.compile(rb'"[ \t\n\r]*:')
_BYTE = re.compile(r"\(byte (\d+)\)")
_NOT_FINITE = re.compile(rb"(?<=[:,\[\s])[-+]?(?:NaN|Infinity|inf)\b", re.IGNORECASE)
_BEFORE = 5
"""Most bytes from the beginning of such a word to the byte that msgspec names."""
_BEGINNINGS = {
    b"\x00": "the record starts with byte 0, as Avro, Protobuf and JSON of a schema registry do: "
    "send plain JSON without a schema id",
    b"\x1f\x8b": "the record is compressed with gzip: send plain JSON, and let the producer compress",
    b"\xef\xbb\xbf": "the record starts with a byte order mark: send UTF-8 without one",
    b"\xff\xfe": "the record is UTF-16: send UTF-8",
    b"\xfe\xff": "the record is UTF-16: send UTF-8",
}


class _RepeatedKey(Exception):
    """Ends the search. Its argument is the key."""


def explain_malformed(value: bytes, error: Exception) -> str:
    """Why bytes are not JSON, in one line. ``error`` is msgspec's; it names the byte, counted from 0."""
    if not value.strip():
        return "the record's value is empty"
    for beginning, explanation in _BEGINNINGS.items():
        if value.startswith(beginning):
            return explanation
    place = _BYTE.search(str(error))
    word = place and _NOT_FINITE.search(value, max(0, int(place[1]) - _BEFORE))
    if not place or not word or word.start() > int(place[1]):
        return str(error)
    return f"{word[0].decode()} (byte {word.start()}) is no number in JSON: send finite numbers only"


def repeated_key(value: bytes, keys: int | None) -> str | None:
    """The first key that an object of a JSON text holds twice, None when there is none.

    ``keys`` is the number of different keys that are known to be in it, over all its objects; None where it is not
    known. A text with no more colons than that, or no more colons after quotation marks, repeats none; only others are
    parsed.
    """
    if keys is not None and (value.count(b":") == keys or len(_KEY.findall(value)) == keys):
        return None
    try:
        # Numbers are not needed, and Python refuses to read very long ones.
        json.loads(value, object_pairs_hook=_refuse_repeated, parse_int=len, parse_float=len, parse_constant=len)
    except _RepeatedKey as repeated:
        return str(repeated)
    except (ValueError, RecursionError):
        return None
    return None


def _refuse_repeated(pairs: list[tuple[str, Any]]) -> None:
    names = set()
    for name, _ in pairs:
        if name in names:
            raise _RepeatedKey(name)
        names.add(name)

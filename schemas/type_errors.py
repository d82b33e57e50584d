"""Finds every value and key of a document that does not fit the types of a struct, each with its path.

msgspec stops at the first error, so mappings and lists are taken apart here and msgspec converts only their leaves.
"""

from __future__ import annotations

import contextlib
import re
import types
from collections.abc import Iterator
from typing import Annotated, Any, Literal, NamedTuple, Union, get_args, get_origin

import msgspec

from .feature_check import quoted
from .problems import JSON_ERRORS, did_you_mean
from .spec import ProgramSpec
from .yamltree import Path

PLAIN_WORDS = {
    "object": "a mapping",
    "array": "a list",
    "str": "a text",
    "int": "a whole number",
    "float": "a number",
    "bool": "true or false",
    "duration": "a duration such as P90D",
    "null": "nothing",
    "int | float | str": "a number or a text",
    "float | str": "a number or a text",
}
_STEP = re.compile(r"\.([^.\[\]`]+)|\[(\d+)\]")
_UNQUOTED_NUMBER = re.compile(r"Expected `str(?: \| null)?`, got `(?:int|float|bool)`")
_IN_BACKTICKS = re.compile(r"`([^`]+)`")
MATCHING = " matching regex "
PATTERN_WORDS = {
    "[a-z0-9]": "of at most 63 lower-case letters, digits, '.', '_' and '-' that begins with a letter or digit",
    '[^"': "without quotation marks, backslashes and control characters",
    "[0-9]": "that is a share, such as 25%",
}
"""Descriptions of the patterns of texts, by their first characters."""


class TypeMismatch(NamedTuple):
    """The path of a value or, with ``at_key``, of a key that does not fit, and the reason."""

    path: Path
    message: str
    at_key: bool = False


def type_errors(value: object, struct: type[msgspec.Struct] = ProgramSpec) -> Iterator[TypeMismatch]:
    """Every mismatch of a document with a struct; without any, msgspec converts the document."""
    return _check_value(value, struct, ())


def json_type_error(value: bytes, struct: type[msgspec.Struct], error: msgspec.ValidationError) -> str:
    """The first mismatch of a JSON text with a struct, in one line. ``error`` is what msgspec says of it."""
    path, message = _explain(error)
    with contextlib.suppress(*JSON_ERRORS):  # the text may be malformed behind the mismatch
        found = next(type_errors(msgspec.json.decode(value), struct), None)
        path, message = (found.path, found.message) if found else (path, message)
    place = ".".join(map(str, path))
    return f"{place if place.isidentifier() else quoted(place)}: {message}" if place else message


def _check_value(value: Any, kind: Any, path: Path) -> Iterator[TypeMismatch]:
    core = _plain_type(kind)
    if isinstance(core, type) and issubclass(core, msgspec.Struct) and isinstance(value, dict):
        yield from _check_mapping(value, core, path)
    elif get_origin(core) is dict and isinstance(value, dict):
        for key, item in value.items():
            yield from _check_value(item, get_args(core)[1], (*path, key))
    elif isinstance(value, list) and value and (kinds := _item_kinds(core, len(value))):
        for index, (item, item_kind) in enumerate(zip(value, kinds, strict=True)):
            yield from _check_value(item, item_kind, (*path, index))
    elif get_origin(core) is Literal and isinstance(value, str) and value not in get_args(core):
        allowed = get_args(core)
        yield TypeMismatch(path, f"{value!r} is not one of {', '.join(allowed)}{did_you_mean(value, allowed)}")
    elif isinstance(value, str) and (words := _number_or_words(core)) and value not in words:
        yield TypeMismatch(path, f"{value!r} is neither a number nor {' or '.join(words)}{did_you_mean(value, words)}")
    else:
        try:
            msgspec.convert(value, kind)
        except msgspec.ValidationError as error:
            below, message = _explain(error)
            yield TypeMismatch((*path, *below), _limits_in_words(kind, value) or message)


def _check_mapping(value: dict[str, Any], struct: type[msgspec.Struct], path: Path) -> Iterator[TypeMismatch]:
    fields = {field.encode_name: field for field in msgspec.structs.fields(struct)}
    for key in value:
        if key not in fields:
            absent = [name for name in fields if name not in value]
            suggestion = did_you_mean(key, absent) or f"; known are {', '.join(fields)}"
            yield TypeMismatch((*path, key), f"unknown key{suggestion}", True)
    for name, field in fields.items():
        if name in value:
            yield from _check_value(value[name], field.type, (*path, name))
        elif field.required:
            yield TypeMismatch(path, f"the key {name} is missing")


def _item_kinds(core: Any, count: int) -> tuple[Any, ...] | None:
    """The types of the items of a list of this length; None when it is not the type of such a list."""
    kinds = get_args(core)
    if get_origin(core) is not tuple:
        return None
    if kinds[-1] is ...:
        return (kinds[0],) * count
    return kinds if len(kinds) == count else None


def _plain_type(kind: Any) -> Any:
    """The type without its ``Annotated`` limits, and without ``None`` and ``UNSET``."""
    if get_origin(kind) is Annotated:
        return _plain_type(get_args(kind)[0])
    if get_origin(kind) in (Union, types.UnionType):
        parts = [part for part in get_args(kind) if part not in (type(None), msgspec.UnsetType)]
        return _plain_type(parts[0]) if len(parts) == 1 else kind
    return kind


def _number_or_words(kind: Any) -> tuple[str, ...]:
    """The words that may stand in place of a number; none for other types."""
    if get_origin(kind) not in (Union, types.UnionType) or float not in map(_plain_type, get_args(kind)):
        return ()
    return tuple(word for part in get_args(kind) if get_origin(part) is Literal for word in get_args(part))


def _limits_in_words(kind: Any, value: Any) -> str | None:
    """What to do about a number that is not between two limits; None where there are no two, and for no number."""
    limits = [limit for limit in getattr(kind, "__metadata__", ()) if isinstance(limit, msgspec.Meta)]
    if isinstance(value, bool) or not isinstance(value, int | float) or not limits:
        return None
    above, below = limits[0].gt, limits[0].lt
    return None if above is None or below is None else f"{value:g}: give a number between {above:g} and {below:g}"


def _explain(error: msgspec.ValidationError) -> tuple[Path, str]:
    """The path and message of a msgspec error, in the words of YAML."""
    message, _, place = str(error).partition(" - at `$")
    path: Path = tuple(int(index) if index else name for name, index in _STEP.findall(place))
    text = bool(_UNQUOTED_NUMBER.match(message))
    if message == "Invalid ISO8601 duration":
        message += ": write one such as P90D"
    plain = _IN_BACKTICKS.sub(lambda match: _in_plain_words(match[1]), message)
    expected, matching, pattern = plain.partition(MATCHING)
    if matching:
        begins = (words for begin, words in PATTERN_WORDS.items() if pattern.strip("'^").startswith(begin))
        words = next(begins, f"matching {pattern}")
        plain = f"{expected} {words}"
    return path, plain[:1].lower() + plain[1:] + ("; put it in quotes" if text else "")


def _in_plain_words(kind: str) -> str:
    if kind in PLAIN_WORDS:
        return PLAIN_WORDS[kind]
    return " or ".join(PLAIN_WORDS.get(part, part) for part in kind.split(" | "))

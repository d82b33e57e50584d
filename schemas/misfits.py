"""What does not fit the types and the names of a spec's fields: every misfit of a file, each with its place."""

from __future__ import annotations

import re
import types
from collections.abc import Iterator
from typing import Annotated, Any, Literal, NamedTuple, Union, get_args, get_origin

import msgspec

from .spec import ProgramSpec
from .speccheck import nearest
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
}
_MATCHING = " matching regex "
PATTERNS = {
    "[a-z0-9]": "of at most 63 lower-case letters, digits, '.', '_' and '-' that begins with a letter or digit",
    '[^"': "without quotation marks, backslashes and control characters",
}
"""What the patterns of texts say, by how they begin."""


class Misfit(NamedTuple):
    """Where, what is wrong, and whether it is the key rather than the value that is wrong."""

    path: Path
    message: str
    at_key: bool = False


def misfits(value: object) -> Iterator[Misfit]:
    """Everything in a document that does not fit ``ProgramSpec``; without any, msgspec converts it."""
    return _of_value(value, ProgramSpec, ())


def _of_value(value: Any, kind: Any, path: Path) -> Iterator[Misfit]:
    """msgspec stops at the first misfit, so mappings and lists are taken apart here."""
    core = _core(kind)
    if isinstance(core, type) and issubclass(core, msgspec.Struct) and isinstance(value, dict):
        yield from _of_mapping(value, core, path)
    elif get_origin(core) is dict and isinstance(value, dict):
        for key, item in value.items():
            yield from _of_value(item, get_args(core)[1], (*path, key))
    elif isinstance(value, list) and value and (kinds := _item_kinds(core, len(value))):
        for index, (item, item_kind) in enumerate(zip(value, kinds, strict=True)):
            yield from _of_value(item, item_kind, (*path, index))
    elif get_origin(core) is Literal and isinstance(value, str) and value not in get_args(core):
        words = get_args(core)
        yield Misfit(path, f"{value!r} is not one of {', '.join(words)}{nearest(value, words)}")
    else:
        try:
            msgspec.convert(value, kind)
        except msgspec.ValidationError as error:
            below, message = _explained(error)
            yield Misfit((*path, *below), message)


def _of_mapping(value: dict[str, Any], struct: type[msgspec.Struct], path: Path) -> Iterator[Misfit]:
    fields = {field.encode_name: field for field in msgspec.structs.fields(struct)}
    for key in value:
        if key not in fields:
            absent = [name for name in fields if name not in value]
            yield Misfit((*path, key), f"unknown key{nearest(key, absent) or '; known are ' + ', '.join(fields)}", True)
    for name, field in fields.items():
        if name in value:
            yield from _of_value(value[name], field.type, (*path, name))
        elif field.required:
            yield Misfit(path, f"the key {name} is missing")


def _item_kinds(core: Any, count: int) -> tuple[Any, ...] | None:
    """The types of the items of a list of this length; None when it is not the type of such a list."""
    kinds = get_args(core)
    if get_origin(core) is not tuple:
        return None
    if kinds[-1] is ...:
        return (kinds[0],) * count
    return kinds if len(kinds) == count else None


def _core(kind: Any) -> Any:
    """The type without its ``Annotated`` limits and without ``None``."""
    if get_origin(kind) is Annotated:
        return _core(get_args(kind)[0])
    if get_origin(kind) in (Union, types.UnionType):
        others = [part for part in get_args(kind) if part is not type(None)]
        return _core(others[0]) if len(others) == 1 else kind
    return kind


def _explained(error: msgspec.ValidationError) -> tuple[Path, str]:
    """The path and message of a msgspec error, in the words of YAML."""
    message, _, place = str(error).partition(" - at `$")
    path: Path = tuple(int(index) if index else name for name, index in re.findall(r"\.([^.\[\]`]+)|\[(\d+)\]", place))
    text = bool(re.match(r"Expected `str(?: \| null)?`, got `(?:int|float|bool)`", message))
    plain = re.sub(r"`([^`]+)`", lambda match: _in_plain_words(match[1]), message)
    expected, matching, pattern = plain.partition(_MATCHING)
    if matching:
        begins = (words for begin, words in PATTERNS.items() if pattern.strip("'^").startswith(begin))
        words = next(begins, f"matching {pattern}")
        plain = f"{expected} {words}"
    return path, plain[:1].lower() + plain[1:] + ("; put it in quotes" if text else "")


def _in_plain_words(kind: str) -> str:
    if kind in PLAIN_WORDS:
        return PLAIN_WORDS[kind]
    return " or ".join(PLAIN_WORDS.get(part, part) for part in kind.split(" | "))

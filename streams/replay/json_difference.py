"""Where two JSON values differ."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from msgspec import UNSET


class Part(NamedTuple):
    """A part in which two values differ, as it ``was`` and is ``now``; UNSET where one has none.

    ``path`` says where it stands, as in ``options[0].cost``; ``name`` is the same without places, as in
    ``options[].cost``. ``is_left_out`` says that an object lacked a field of this name.
    """

    path: str
    name: str
    was: Any
    now: Any
    is_left_out: bool


def differing_parts(was: Any, now: Any, path: str = "", name: str = "", *, is_left_out: bool = False) -> Iterator[Part]:
    """The smallest parts that differ, in the order of the values."""
    if isinstance(was, dict) and isinstance(now, dict):
        for field in [*was, *(field for field in now if field not in was)]:
            sides = was.get(field, UNSET), now.get(field, UNSET)
            names = (f"{above}.{field}".lstrip(".") for above in (path, name))
            yield from differing_parts(*sides, *names, is_left_out=field not in was)
    elif isinstance(was, list) and isinstance(now, list):
        for place in range(max(len(was), len(now))):
            sides = was[place] if place < len(was) else UNSET, now[place] if place < len(now) else UNSET
            yield from differing_parts(*sides, f"{path}[{place}]", f"{name}[]")
    elif was != now or type(was) is not type(now):
        yield Part(path, name, was, now, is_left_out)


def names_of(value: Any, name: str = "") -> Iterator[str]:
    """The names of all fields of a value: see ``Part``."""
    if isinstance(value, dict):
        for field, inner in value.items():
            path = f"{name}.{field}".lstrip(".")
            yield path
            yield from names_of(inner, path)
    elif isinstance(value, list):
        for inner in value:
            yield from names_of(inner, f"{name}[]")

"""JSON for people and programs: what was found is one object, whose fields are those of its tuple or struct."""

from __future__ import annotations

import json
from collections.abc import Mapping

import msgspec
from msgspec import UNSET


def print_json(found: object) -> None:
    """Print what was found, indented, in ASCII: it may hold letters that a terminal takes for orders."""
    print(json_text(found))


def json_text(found: object) -> str:
    """The same as text."""
    return json.dumps(msgspec.to_builtins(_objects(found), enc_hook=str), indent=2)


def _objects(found: object) -> object:
    """Named tuples as objects, without fields that are unset: msgspec writes them as arrays."""
    if isinstance(found, tuple) and hasattr(found, "_fields"):
        return _objects({name: part for name, part in zip(found._fields, found, strict=True) if part is not UNSET})
    if isinstance(found, Mapping):
        return {name: _objects(part) for name, part in found.items()}
    return list(map(_objects, found)) if isinstance(found, list | tuple) else found

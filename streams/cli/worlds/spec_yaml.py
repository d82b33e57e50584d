"""Writes a program spec, and its words, as the YAML that a person would write."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta
from io import StringIO
from typing import Any

import msgspec
from ruamel.yaml import YAML
from ruamel.yaml.comments import CommentedMap, CommentedSeq

from ....schemas.spec import ProgramSpec
from ....schemas.words.form import LanguageWords

ALWAYS_WRITTEN = {"policy", "choice", "cost", "window", "steps", "decisions"}
"""Fields that are written even where they have their default, because readers look for them."""


def spec_yaml(spec: ProgramSpec) -> str:
    """A spec as YAML, without most of the fields that have their default, and with one line a feature."""
    tree = _plain(spec)
    for name, value in tree.items():
        for flat in value if name == "features" else [value]:
            if isinstance(flat, CommentedMap):
                flat.fa.set_flow_style()
    return _dumped(tree)


def words_yaml(words: LanguageWords) -> str:
    """The words of a language as YAML."""
    return _dumped(_plain(words))


def _dumped(tree: Any) -> str:
    yaml = YAML()
    yaml.width = 120
    yaml.indent(mapping=2, sequence=4, offset=2)
    text = StringIO()
    yaml.dump(tree, text)
    return text.getvalue()


def _plain(value: Any) -> Any:
    if isinstance(value, msgspec.Struct):
        fields = ((field, getattr(value, field.name)) for field in msgspec.structs.fields(value))
        return CommentedMap(
            (field.encode_name, _plain(content))
            for field, content in fields
            if content != _default(field) or field.name in ALWAYS_WRITTEN
        )
    if isinstance(value, Mapping):
        return CommentedMap((key, _plain(content)) for key, content in value.items())
    if isinstance(value, tuple):
        return CommentedSeq(map(_plain, value))
    if isinstance(value, timedelta):
        return msgspec.to_builtins(value)
    return int(value) if isinstance(value, float) and value.is_integer() else value


def _default(field: msgspec.structs.FieldInfo) -> Any:
    if field.default is not msgspec.NODEFAULT:
        return field.default
    return field.default_factory() if field.default_factory is not msgspec.NODEFAULT else msgspec.NODEFAULT

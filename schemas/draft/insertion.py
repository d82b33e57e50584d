"""Adds fields to a YAML text and leaves every other character as it is: comments, order, quotes.

text, added = with_fields("program: {name: Loan}\\n", {"program": {"applied": Field("loan")}})
text      # "program: {name: Loan, applied: loan}\\n"
added     # ["program: applied"]
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from ruamel.yaml import YAML
from ruamel.yaml.nodes import MappingNode, Node, ScalarNode

from ..yamltree import Path, YamlDocument, format_path
from .yaml_text import text as quoted

INDENT = 2
IN_ONE_LINE = ("value", "values")
"""Mappings that are written in one line, where each of their fields has a text."""


Scalar = str | float | bool


class Field(NamedTuple):
    """The value of a field, None where nobody knows it; and what is to be written there, as a comment."""

    value: Scalar | None
    hint: str = ""


Fields = Mapping[str, "Fields | Field"]


class _Insertion(NamedTuple):
    """What is inserted into a text at a place, and the names that it gives the mapping at a path."""

    at: int
    text: str
    path: Path
    names: list[str]


def with_fields(text: str, wanted: Fields) -> tuple[str, list[str]]:
    """The text with those of the fields that it lacks, and a line for each mapping that got some.

    Raise ``ValueError`` where they cannot be added without a change of what is there.
    """
    before = YamlDocument(text.encode())
    assert not before.problems, "the text has been read"
    node = YAML(typ="safe", pure=True).compose(text)
    # At one place what belongs to a mapping comes before what belongs to the mapping around it.
    found = sorted(_insertions(text, node, wanted, ()), key=lambda insertion: (insertion.at, -len(insertion.path)))
    changed = text
    for insertion in reversed(found):
        behind = changed[: insertion.at]
        line_break = "\n" if insertion.text.endswith("\n") and behind and not behind.endswith("\n") else ""
        changed = f"{behind}{line_break}{insertion.text}{changed[insertion.at :]}"
    after = YamlDocument(changed.encode())
    if after.problems or after.value != _merged(before.value, wanted):
        raise ValueError("fields cannot be added to it as it is written")
    added = [f"{format_path(one.path)}: {', '.join(one.names)}".removeprefix(": ") for one in found]
    return changed, added


def block(fields: Fields, indent: int = 0) -> str:
    """Fields as lines of YAML."""
    lines = []
    for name, field in fields.items():
        key = f"{' ' * indent}{quoted(name)}:"
        if isinstance(field, Field):
            hint = "".join(char for char in " ".join(field.hint.split()) if char.isprintable())
            lines.append(key + _scalar(field.value) + (f"  # {hint}" if hint else ""))
        elif name in IN_ONE_LINE and all(isinstance(own, Field) and own.value for own in field.values()):
            lines.append(f"{key} {{{_flow(field)}}}")
        else:
            lines += [key, block(field, indent + INDENT).rstrip("\n")]
    return "".join(f"{line}\n" for line in lines)


def _flow(fields: Fields) -> str:
    """Fields in one line, without their comments."""
    return ", ".join(
        f"{quoted(name)}:{_scalar(field.value) or ' ' if isinstance(field, Field) else f' {{{_flow(field)}}}'}"
        for name, field in fields.items()
    )


def _insertions(text: str, node: Node, wanted: Fields, path: Path) -> Iterator[_Insertion]:
    """What is to be inserted below a node, in the order of the text's fields."""
    if not isinstance(node, MappingNode):
        raise ValueError(f"{format_path(path) or 'it'} has no fields")
    there = {str(key.value): (key, value) for key, value in node.value}
    lacking = {name: field for name, field in wanted.items() if name not in there}
    for name in wanted.keys() & there.keys():
        (key, value), field = there[name], wanted[name]
        if isinstance(field, Field):
            continue
        if _is_empty(value):
            own = block(field, key.start_mark.column + INDENT)
            yield _Insertion(_line_after(text, key.end_mark.index), own, (*path, name), list(field))
        else:
            yield from _insertions(text, value, field, (*path, name))
    if lacking and node.flow_style:
        begun = ", " if node.value else ""
        yield _Insertion(node.end_mark.index - 1, begun + _flow(lacking), path, list(lacking))
    elif lacking:
        column = node.value[0][0].start_mark.column
        yield _Insertion(_line_after(text, _end(text, node)), block(lacking, column), path, list(lacking))


def _end(text: str, node: Node) -> int:
    """Where the last character of a node stands; comments behind it are not its own."""
    while not getattr(node, "flow_style", True) and node.value:
        last: Any = node.value[-1]
        key, node = last if isinstance(last, tuple) else (last, last)
        if _is_empty(node):
            node = key
    end: int = node.end_mark.index
    is_block_scalar = isinstance(node, ScalarNode) and node.style in ("|", ">")
    return len(text[:end].rstrip()) if is_block_scalar else end


def _is_empty(node: Node) -> bool:
    """Whether nothing is written there: the marks of such a node may stand behind the next line."""
    return isinstance(node, ScalarNode) and not node.value and not node.style


def _line_after(text: str, index: int) -> int:
    """Where the line behind the one of a character begins; the text's end where there is none."""
    return text.find("\n", index) + 1 or len(text)


def _merged(value: Any, wanted: Fields) -> Any:
    """What a document holds with the fields that it lacks."""
    own: dict[str, Any] = dict(value or {})
    for name, field in wanted.items():
        if isinstance(field, Field):
            own.setdefault(name, field.value)
        else:
            own[name] = _merged(own.get(name), field)
    return own


def _scalar(value: Scalar | None) -> str:
    """A value behind its name; a phrase has no quotes, where it is of plain words."""
    if not isinstance(value, str):
        return "" if value is None else f" {json.dumps(value)}"
    is_plain = " " in value and all(word.isalpha() and word.isascii() for word in value.split(" "))
    return f" {value if is_plain else quoted(value)}"

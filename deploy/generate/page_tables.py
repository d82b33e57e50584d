"""Writes the tables of docs that are made from the code: ``python -m onward.deploy.generate.page_tables``.

A table stands between ``<!-- NAME -->`` and ``<!-- /NAME -->``.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from importlib import import_module
from pathlib import Path
from typing import Literal, get_args, get_origin

from pydantic.fields import FieldInfo

from ...streams.console.metrics import DECLARED
from ...streams.errors import OnwardError
from ...streams.metrics import Declared, Metrics
from ...streams.settings import Settings
from ...streams.settings.fields import is_positional
from .method_parameters import method_parameters

REFERENCE = Path(__file__).parents[2] / "docs" / "reference"
SETTINGS = re.compile(r"<!-- (settings (\S+)\.(\w+)) -->")
TYPES = {
    "str": "text",
    "int": "whole number",
    "float": "number",
    "bool": "yes or no",
    "Path": "path",
    "timedelta": "duration",
}


def pages() -> dict[Path, str]:
    """The pages with all of their tables generated from the code."""
    tables = {
        "commands.md": _commands(),
        "exit-codes.md": {"exit codes": _exit_codes()},
        "metrics.md": {"metrics": _metrics(Metrics().declared), "console's metrics": _metrics(DECLARED)},
        "spec.md": {"parameters": _parameters()},
    }
    return {REFERENCE / page: _with_tables(REFERENCE / page, content) for page, content in tables.items()}


def _with_tables(page: Path, tables: Mapping[str, str]) -> str:
    text = page.read_text(encoding="utf-8")
    for name, content in tables.items():
        start, end = f"<!-- {name} -->\n", f"<!-- /{name} -->"
        before, opened, rest = text.partition(start)
        _, closed, after = rest.partition(end)
        if not opened or not closed:
            raise ValueError(f"{page.name} has no place for the table {name!r}: add {start.strip()} and {end}")
        text = f"{before}{start}{content}\n{end}{after}"
    return text


def _commands() -> dict[str, str]:
    """The tables of settings, by their classes: that of a class leaves out what a base's own table has."""
    names = SETTINGS.findall((REFERENCE / "commands.md").read_text(encoding="utf-8"))
    classes: dict[str, type[Settings]] = {
        name: getattr(import_module(f"onward.streams.{module}"), setting) for name, module, setting in names
    }
    return {
        name: _settings(settings, set(settings.__mro__[1:]) & set(classes.values()))
        for name, settings in classes.items()
    }


def _settings(settings: type[Settings], bases: Iterable[type[Settings]]) -> str:
    inherited = {name for base in bases for name in base.names()}
    named = [
        (name, field) for name, field in settings.names().items() if name not in inherited and not is_positional(field)
    ]
    columns = {
        "flag": [f"`--{name.replace('_', '-')}`" for name, _ in named],
        "variable": [f"`ONWARD_{name.upper()}`" for name, _ in named],
        "value": [_type(field) for _, field in named],
        "default": [_default(field) for _, field in named],
        "meaning": [field.description for _, field in named],
    }
    if not settings.has_variables:
        del columns["variable"]
    return _table(tuple(columns), list(zip(*columns.values(), strict=True)))


def _type(field: FieldInfo) -> str:
    choices = list(_literals(field.annotation))
    if choices:
        return ", ".join(f"`{choice}`" for choice in choices)
    text = str(field.annotation)
    if "tuple" in text:
        return "list"
    if "SecretStr" in text:
        return "secret"
    return next(description for name, description in TYPES.items() if re.search(rf"\b{name}\b", text))


def _literals(annotation: object) -> Iterator[str]:
    if get_origin(annotation) is Literal:
        yield from get_args(annotation)
        return
    for part in get_args(annotation):
        yield from _literals(part)


def _default(field: FieldInfo) -> str:
    if field.is_required():
        return "required"
    if isinstance(field.default, bool):
        return "yes" if field.default else "no"
    default = ",".join(field.default) if isinstance(field.default, tuple) else field.default
    return "" if default in (None, "") else f"`{default}`"


def _exit_codes() -> str:
    rows = [("0", "done"), ("1", "failed; the line says how")]
    rows += [
        (str(error.exit_code), " ".join((error.__doc__ or "").split()).rstrip("."))
        for error in OnwardError.__subclasses__()
    ]
    return _table(("code", "meaning"), [*rows, ("130", "interrupted with Ctrl-C")])


def _metrics(declared: Iterable[Declared]) -> str:
    rows = []
    for metric in declared:
        labels = ", ".join(f"`{label}`" for label in metric.labels)
        rows.append((f"`{metric.name}`", metric.type, labels, metric.documentation))
    return _table(("metric", "type", "labels", "meaning"), rows)


def _parameters() -> str:
    """What the methods take by name."""
    rows = [
        (f"`{field}`", ", ".join(f"`{method}`" for method in methods), f"{parameter}", f"{parameter.default}", meaning)
        for (field, parameter, meaning), methods in method_parameters().items()
    ]
    return _table(("field", "of", "value", "default", "meaning"), rows)


def _table(head: Sequence[str], rows: Sequence[Sequence[str | None]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(f"| {' | '.join((cell or '').replace('|', chr(92) + '|') for cell in line)} |" for line in lines)


if __name__ == "__main__":
    for page, text in pages().items():
        page.write_text(text, encoding="utf-8")

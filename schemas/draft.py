"""Drafts a program spec from a data file: types and bounds come from the columns, people decide the rest.

Numbers become ``integer`` or ``continuous`` with the bounds of the file. Columns ``NAME:CATEGORY`` of which exactly
one is 1 in every row become one categorical feature. Texts become categories when there are few different ones.
Columns that cannot be used are listed in comments.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

import msgspec

from .events import Value
from .problems import did_you_mean
from .spec import Name
from .table import MAX_REPORTED, RawTable, TableError, label_cells, number, read_csv

MAX_CATEGORIES = 50
PLAIN = re.compile(r"[A-Za-z][A-Za-z0-9_]*")
NOT_TEXT = {"true", "false", "null", "yes", "no", "on", "off", "y", "n"}
PERSONAL = {"age", "sex", "gender", "race", "ethnicity", "religion", "nationality", "foreign", "married", "marital"}
PERSONAL_FIELDS = ", mutable: none, pii: true"
HEAD = """\
# Drafted from {file}: review every line before use.
# mutable: none for what a person cannot change, up or down for what goes one way only; pii: true for personal data.
# bounds are the least and the largest value of the file; an application outside them is refused.
# step, beside bounds, is the smallest change that a person can make: {{..., step: 100}}.
"""
LIMITS = """\
# A suggestion is the situation of another person: as drafted, most change nearly every feature. What keeps them small:
# constraints: {{max_changes: {most}}}  # a suggestion changes at most so many features
# policy: {{generator: search, nu: 1}}  # search: the cheapest changes for this person, instead of another's situation;
#   nu: an easy one (low cost c) counts more the larger nu: exp(-nu c); 1 / encoded columns by default
"""
FEW_CHANGES = 3
BAD_NAME = "the column needs a printable name of 1 to 100 characters, no quotation mark or backslash among them"


def draft_spec(path: str | Path, label: str) -> str:
    """The YAML of a spec for the data file at ``path`` whose label column is ``label``. Raises ``TableError``."""
    raw = read_csv(path)
    if label not in raw.columns:
        raise TableError(raw.file, 1, label, f"no such column{did_you_mean(label, raw.columns)}")
    if not _is_name(label):
        raise TableError(raw.file, 1, ascii(label), BAD_NAME)
    labels = label_cells(raw, label)
    features, unused = _feature_lines(raw, label)
    if not features:
        reasons = [TableError(raw.file, 1, ascii(name), f"not used: {reason}") for name, reason in unused.items()]
        raise TableError(raw.file, None, None, "no column can be a feature", *reasons[:MAX_REPORTED])
    return "".join(
        (
            HEAD.format(file=ascii(raw.file.name)),
            f"program: {_program_name(raw.file)}\nfeatures:\n",
            *features,
            *(f"  # not used, {name!a}: {reason}\n" for name, reason in unused.items()),
            _label_line(label, labels),
            "model: {manifest: model/manifest.json}\n",
            LIMITS.format(most=max(1, min(FEW_CHANGES, sum(PERSONAL_FIELDS not in line for line in features) - 1))),
        )
    )


def _feature_lines(raw: RawTable, label: str) -> tuple[list[str], dict[str, str]]:
    """The lines of the features, and for each other column the reason why it is none."""
    groups = _one_hot_groups(raw, label)
    group_of = {column: group for group, columns in groups.items() for column in columns}
    features: dict[str, str] = {}
    unused: dict[str, str] = {}
    for name, cells in raw.columns.items():
        group = group_of.get(name)
        if group is not None:
            features[group] = _one_hot_line(group, groups[group])
        elif name != label and (reason := _unusable(name, cells)):
            unused[name] = reason
        elif name != label:
            features[name] = _feature_line(name, cells)
    return list(features.values()), unused


def _unusable(name: str, cells: Sequence[str]) -> str | None:
    values = {cell.strip() for cell in cells}
    if not _is_name(name):
        return BAD_NAME
    if "" in values:
        return f"{sum(not cell.strip() for cell in cells)} cells are empty"
    if len(values) == 1:
        return "it has one value only"
    numbers = [value for value in map(number, values) if not isinstance(value, str)]
    if len(numbers) < len(values) and not all(map(str.isprintable, values)):
        return "it holds characters that cannot be printed"
    if len(numbers) < len(values):
        return None if len(values) <= MAX_CATEGORIES else f"{len(values)} different texts"
    if not all(map(_is_scalable, numbers)):
        return "numbers beyond what can be scaled"
    return None if min(numbers) < max(numbers) else "it has one value only"


def _is_name(text: str) -> bool:
    try:
        return msgspec.convert(text, Name).isprintable()
    except msgspec.ValidationError:
        return False


def _is_scalable(value: float) -> bool:
    return abs(value) <= 2**53 and math.isfinite(value)


def _feature_line(name: str, cells: Sequence[str]) -> str:
    values = [number(cell.strip()) for cell in cells]
    numbers = [value for value in values if not isinstance(value, str)]
    personal = _personal_fields(name)
    if len(numbers) < len(values):
        categories = sorted({cell.strip() for cell in cells})
        return f"  - {{name: {_text(name)}, type: categorical, categories: {_list(categories)}{personal}}}\n"
    whole = all(value == int(value) for value in numbers)
    bounds = ", ".join(_number(value) for value in (min(numbers), max(numbers)))
    return f"  - {{name: {_text(name)}, type: {'integer' if whole else 'continuous'}, bounds: [{bounds}]{personal}}}\n"


def _one_hot_line(name: str, columns: Mapping[str, str]) -> str:
    values = f"categories: {_list(columns.values())}, one_hot: {_list(columns)}"
    return f"  - {{name: {_text(name)}, type: categorical, {values}{_personal_fields(name)}}}\n"


def _personal_fields(name: str) -> str:
    words = re.findall(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])", name)
    return PERSONAL_FIELDS if PERSONAL.intersection(word.lower() for word in words) else ""


def _one_hot_groups(raw: RawTable, label: str) -> dict[str, dict[str, str]]:
    """The one-hot features of a file: name -> its columns with their categories."""
    groups: dict[str, dict[str, str]] = {}
    for column in raw.columns:
        name, colon, category = column.partition(":")
        if (
            colon
            and category
            and _is_name(name)
            and category.isprintable()
            and column != label
            and name not in raw.columns
        ):
            groups.setdefault(name, {})[column] = category
    return {name: columns for name, columns in groups.items() if len(columns) > 1 and _is_one_hot(raw, columns)}


def _is_one_hot(raw: RawTable, columns: Iterable[str]) -> bool:
    rows = zip(*([number(cell) for cell in raw.columns[column]] for column in columns), strict=True)
    return all(row.count(1) == 1 and row.count(0) == len(row) - 1 for row in rows)


def _label_line(label: str, cells: Sequence[str]) -> str:
    distinct = set(map(_label_value, cells))
    values: list[Value] = sorted(distinct, key=lambda value: (isinstance(value, str), value))
    desired = 1 if 1 in values else values[-1]
    written = _text(desired) if isinstance(desired, str) else _number(desired)
    candidates = ", ".join(ascii(value) for value in values[:5]) + (", ..." if len(values) > 5 else "")
    return f"label: {{name: {_text(label)}, desired: {written}}}  # check which is the desired one of {candidates}\n"


def _label_value(cell: str) -> Value:
    value = number(cell)
    return value if isinstance(value, str) or _is_scalable(value) else cell


def _program_name(file: Path) -> str:
    name = re.sub(r"[^a-z0-9._-]+", "-", file.stem.lower()).strip("-._")[:63]
    return _text(name or "program")


def _number(value: float) -> str:
    return str(int(value)) if value == int(value) else repr(value)


def _text(text: str) -> str:
    return text if PLAIN.fullmatch(text) and text.lower() not in NOT_TEXT else json.dumps(text, ensure_ascii=False)


def _list(texts: Iterable[str]) -> str:
    return f"[{', '.join(map(_text, texts))}]"

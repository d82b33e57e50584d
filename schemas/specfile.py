"""Program specs from YAML files, with every error explained by its line.

    loaded = load_spec("credit.yaml")
    loaded.spec.features[0].name, loaded.sha256

The errors of one kind are all reported together: first those of YAML, then those of types and names of fields,
then those of meaning (``speccheck.py``).
"""

from __future__ import annotations

import hashlib
import re
import types
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path as FilePath
from typing import Annotated, Any, Literal, Union, get_args, get_origin

import msgspec

from .problems import SpecProblem as SpecProblem
from .spec import ProgramSpec
from .speccheck import Fault, faults, nearest
from .yamltree import Path, Tree

MAX_BYTES = 256 * 1024
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


Check = Callable[[ProgramSpec], Iterable[Fault]]
"""Finds what is wrong with the meaning of a spec that this package cannot know, see ``load_spec``."""


class SpecError(Exception):
    """A spec file that cannot be used. Its text is one line a problem: ``file:line: path: message``."""

    exit_code = 2

    def __init__(self, problems: list[SpecProblem], file: FilePath) -> None:
        self.problems = problems
        self.file = file
        super().__init__("\n".join(located(problem, file) for problem in problems))


@dataclass(frozen=True)
class LoadedSpec:
    """A spec, the file it came from, and the sha256 (hex) of that file's bytes, by which recourses refer to it."""

    spec: ProgramSpec
    sha256: str
    path: FilePath


def located(problem: SpecProblem, file: FilePath) -> str:
    """A problem as one line: ``file:line: path: message``."""
    return ": ".join(part for part in (f"{file}:{problem.line}", problem.path, problem.message) if part)


def load_spec(path: str | FilePath, *checks: Check) -> LoadedSpec:
    """Read a spec file and check it, also with ``checks``. Raises ``SpecError`` with all its problems."""
    file = FilePath(path)
    result = _read(file, checks)
    if isinstance(result, LoadedSpec):
        return result
    raise SpecError(result, file)


def check_file(path: str | FilePath) -> list[SpecProblem]:
    """The problems of a spec file, in the order of its lines; none when it can be used."""
    result = _read(FilePath(path), ())
    return [] if isinstance(result, LoadedSpec) else result


def parse_spec(data: bytes, *checks: Check) -> ProgramSpec | list[SpecProblem]:
    """A spec from the bytes of its YAML, or everything that is wrong with them."""
    if len(data) > MAX_BYTES:
        return [SpecProblem(1, 1, "", f"{len(data)} bytes; a spec may have {MAX_BYTES}")]
    tree = Tree(data)
    problems = list(tree.problems)
    if not problems:
        problems = [tree.problem(path, message, at_key=key) for path, message, key in _misfits(tree.value)]
    if not problems:
        try:
            spec = msgspec.convert(tree.value, ProgramSpec)
        except msgspec.ValidationError as error:
            path, message = _explained(error)
            return [tree.problem(path, message)]
        problems = [tree.problem(path, message) for check in (faults, *checks) for path, message in check(spec)]
        if not problems:
            return spec
    return sorted(problems)


def _read(file: FilePath, checks: Iterable[Check]) -> LoadedSpec | list[SpecProblem]:
    try:
        with file.open("rb") as stream:
            data = stream.read(MAX_BYTES + 1)
    except OSError as error:
        return [SpecProblem(1, 1, "", f"cannot be read: {error.strerror}")]
    result = parse_spec(data, *checks)
    if isinstance(result, list):
        return result
    return LoadedSpec(result, hashlib.sha256(data).hexdigest(), file)


Misfit = tuple[Path, str, bool]
"""Where, what is wrong, and whether it is the key rather than the value that is wrong."""


def _misfits(value: object) -> Iterator[Misfit]:
    return _value_misfits(value, ProgramSpec, ())


def _value_misfits(value: Any, kind: Any, path: Path) -> Iterator[Misfit]:
    """What does not fit the type. msgspec stops at the first misfit, so mappings and lists are taken apart here."""
    core = _core(kind)
    if isinstance(core, type) and issubclass(core, msgspec.Struct) and isinstance(value, dict):
        yield from _mapping_misfits(value, core, path)
    elif get_origin(core) is tuple and get_args(core)[-1] is ... and isinstance(value, list):
        for index, item in enumerate(value):
            yield from _value_misfits(item, get_args(core)[0], (*path, index))
    elif get_origin(core) is Literal and isinstance(value, str) and value not in get_args(core):
        words = get_args(core)
        yield path, f"{value!r} is not one of {', '.join(words)}{nearest(value, words)}", False
    else:
        try:
            msgspec.convert(value, kind)
        except msgspec.ValidationError as error:
            below, message = _explained(error)
            yield (*path, *below), message, False


def _mapping_misfits(value: dict[str, Any], struct: type[msgspec.Struct], path: Path) -> Iterator[Misfit]:
    fields = {field.encode_name: field for field in msgspec.structs.fields(struct)}
    for key in value:
        if key not in fields:
            absent = [name for name in fields if name not in value]
            yield (*path, key), f"unknown key{nearest(key, absent) or '; known are ' + ', '.join(fields)}", True
    for name, field in fields.items():
        if name in value:
            yield from _value_misfits(value[name], field.type, (*path, name))
        elif field.required:
            yield path, f"the key {name} is missing", False


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
    return path, plain[:1].lower() + plain[1:] + ("; put it in quotes" if text else "")


def _in_plain_words(kind: str) -> str:
    if kind in PLAIN_WORDS:
        return PLAIN_WORDS[kind]
    return " or ".join(PLAIN_WORDS.get(part, part) for part in kind.split(" | "))

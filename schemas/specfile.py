"""Program specs from YAML files, with every error explained by its line.

    loaded = load_spec("credit.yaml")
    loaded.spec.features[0].name, loaded.sha256

Problems are reported together, a hundred of them at most: values that YAML cannot read, types and names of fields that
do not fit (``misfits.py``), and what is wrong with the meaning of the parts that are well-formed (``speccheck.py``).
Only an error of YAML's syntax stands alone.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import chain, islice
from pathlib import Path as FilePath

import msgspec

from .misfits import misfits
from .parts import well_formed
from .problems import SpecProblem as SpecProblem
from .spec import ProgramSpec
from .speccheck import Fault, faults
from .yamltree import Path, Tree

MAX_BYTES = 256 * 1024
MAX_PROBLEMS = 100

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


def parse_spec(data: bytes, *checks: Check) -> ProgramSpec | list[SpecProblem]:
    """A spec from the bytes of its YAML, or everything that is wrong with them."""
    if len(data) > MAX_BYTES:
        return [SpecProblem(1, 1, "", f"{len(data)} bytes; a spec may have {MAX_BYTES}")]
    tree = Tree(data)
    found = list(islice(_problems(tree, checks), MAX_PROBLEMS + 1))
    if not found:
        return msgspec.convert(tree.value, ProgramSpec)
    told = sorted(found[:MAX_PROBLEMS])
    if len(found) > MAX_PROBLEMS:
        told.append(SpecProblem(told[-1].line, 1, "", f"there are more problems than these {MAX_PROBLEMS}"))
    return told


def _problems(tree: Tree, checks: Iterable[Check]) -> Iterator[SpecProblem]:
    """Found one by one, because a hostile file has very many."""
    yield from tree.problems
    if () in tree.unread:
        return
    unfit: set[Path] = set()
    for path, message, at_key in misfits(tree.value):
        if not tree.is_unread(path):
            unfit.add(path)
            yield tree.problem(path, message, at_key=at_key)
    if isinstance(tree.value, dict):
        parts = well_formed(tree.value, tree.unread | unfit)
        found = (faults(parts.spec, parts.others), *(check(parts.spec) for check in checks))
        for path, message in parts.placed(chain.from_iterable(found)):
            yield tree.problem(path, message)


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

"""Program specs from YAML files, with every error explained by its line.

    loaded = load_spec("credit.yaml")
    loaded.spec.features[0].name, loaded.sha256

A file is checked in three stages; the problems of the first stage that finds any are reported together, a hundred of
them at most: YAML (``yamltree.py``), the types and names of fields (``type_errors.py``), the rules (``spec_rules.py``).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import chain, islice
from pathlib import Path as FilePath

import msgspec
from msgspec.structs import replace

from .feature_rules import Violation
from .prior_file import PriorFileError, with_prior, without_prior
from .problems import SpecProblem as SpecProblem
from .spec import ProgramSpec
from .spec_document import sha256_of
from .spec_rules import violations
from .type_errors import type_errors
from .words.file import WordsError, WordsFiles, with_words
from .yamltree import YamlDocument

MAX_BYTES = 256 * 1024
MAX_PROBLEMS = 100

Check = Callable[[ProgramSpec], Iterable[Violation]]
"""Rules from outside this package, such as the names of the choices, see ``load_spec``."""


class SpecError(Exception):
    """A spec file that cannot be used. Its text is one line a problem: ``file:line: path: message``."""

    exit_code = 2

    def __init__(self, problems: list[SpecProblem], file: FilePath) -> None:
        self.problems = problems
        self.file = file
        lines = ((f"{file}:{one.line}" if one.line else str(file), one.path, one.message) for one in problems)
        super().__init__("\n".join(": ".join(filter(None, parts)) for parts in lines))


@dataclass(frozen=True)
class LoadedSpec:
    """A spec, and the file it came from."""

    spec: ProgramSpec
    path: FilePath

    @cached_property
    def sha256(self) -> str:
        """The sha256 (hex) of what the spec means, by which recourses refer to it."""
        return sha256_of(self.spec)


def load_spec(path: str | FilePath, *checks: Check) -> LoadedSpec:
    """Read a spec file and check it, also with ``checks``. Raises ``SpecError`` with all its problems."""
    file = FilePath(path)
    try:
        with file.open("rb") as stream:
            data = stream.read(MAX_BYTES + 1)
    except OSError as error:
        raise SpecError([SpecProblem(0, 0, "", f"cannot be read: {error.strerror}")], file) from None
    spec = parse_spec(data, *checks, folder=file.parent)
    if isinstance(spec, list):
        raise SpecError(spec, file)
    return LoadedSpec(spec, file)


def parse_spec(data: bytes, *checks: Check, folder: FilePath = FilePath()) -> ProgramSpec | list[SpecProblem]:
    """A spec from the bytes of its YAML, or the problems of the first stage that finds any.

    The paths of its prior and words are relative to ``folder``.
    """
    if len(data) > MAX_BYTES:
        return [SpecProblem(0, 0, "", f"{len(data)} bytes; a spec may have {MAX_BYTES}")]
    document = YamlDocument(data)
    problems = _first(document.problems) or _first(
        document.problem(path, message, at_key=at_key) for path, message, at_key in type_errors(document.value)
    )
    if problems:
        return problems
    spec = msgspec.convert(document.value, ProgramSpec)
    unreadable: list[Violation] = []
    try:
        spec = with_prior(spec, folder)
    except PriorFileError as error:
        spec, unreadable = without_prior(spec), [(("elicitation", "prior"), str(error))]
    files: WordsFiles | None = None
    try:
        spec, files = with_words(spec, folder)
    except WordsError as error:
        spec = replace(spec, words=None)
        unreadable += [(("words",), problem) for problem in error.problems]
    violated = chain(unreadable, _in_files(violations(spec), files), *(check(spec) for check in checks))
    return _first(document.problem(path, message) for path, message in violated) or spec


def _in_files(violated: Iterable[Violation], files: WordsFiles | None) -> Iterator[Violation]:
    """The violations, those of words with their own file and line, where these are in files."""
    for path, message in violated:
        if files is not None and path[0] == "words":
            yield ("words",), files.in_file(path[1:], message)
        else:
            yield path, message


def _first(problems: Iterable[SpecProblem]) -> list[SpecProblem]:
    """The first ``MAX_PROBLEMS``, by line, and a last one when there are more."""
    first = list(islice(problems, MAX_PROBLEMS + 1))
    if len(first) <= MAX_PROBLEMS:
        return sorted(first)
    reported = sorted(first[:MAX_PROBLEMS])
    return [*reported, SpecProblem(reported[-1].line, 1, "", f"there are more problems than these {MAX_PROBLEMS}")]

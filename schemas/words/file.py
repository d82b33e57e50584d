"""The words that a spec names by a folder, read: what a spec means holds the words themselves, wherever they lie."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import msgspec
from msgspec.structs import replace

from ..spec import ProgramSpec
from ..type_errors import type_errors
from ..yamltree import Path as YamlPath
from ..yamltree import YamlDocument
from .form import LanguageTag, LanguageWords

MAX_WORDS_BYTES = 64 * 1024
"""Of a file."""
MAX_BYTES_OF_ALL = 192 * 1024
"""Of all files: with the words in it, a spec must fit into a record."""
SUFFIX = ".yaml"


class WordsError(Exception):
    """Words cannot be read; each of ``problems`` is one line, with its file and line where it has one."""

    def __init__(self, *problems: str) -> None:
        self.problems = problems
        super().__init__("\n".join(problems))


class WordsFiles:
    """The words files of a folder, one a language. Raises ``WordsError`` where they cannot be read."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._documents = {file.stem: YamlDocument(data) for file, data in _contents(folder)}
        problems = list(self._problems())
        if problems:
            raise WordsError(*problems)
        self.words = {
            tag: msgspec.convert(given(document.value), LanguageWords) for tag, document in self._documents.items()
        }
        """By language."""

    def in_file(self, path: YamlPath, message: str) -> str:
        """A fault of the value at a path, which begins with its language, as one line with its file and line."""
        if not path:
            return f"{self._folder}: {message}"
        tag, below = str(path[0]), path[1:]
        problem = self._documents[tag].problem(below, message)
        return ": ".join(filter(None, (f"{self._folder / tag}{SUFFIX}:{problem.line}", problem.path, problem.message)))

    def _problems(self) -> Iterator[str]:
        for tag, document in self._documents.items():
            file = f"{self._folder / tag}{SUFFIX}"
            try:
                msgspec.convert(tag, LanguageTag)
            except msgspec.ValidationError:
                yield f"{file}: {tag!r} is no tag of a language, such as en, en-GB or ar"
            faults = document.problems or [
                document.problem(path, message, at_key=at_key)
                for path, message, at_key in type_errors(given(document.value), LanguageWords)
            ]
            for line, _, path, message in faults:
                yield ": ".join(filter(None, (f"{file}:{line}", path, message)))


def with_words(spec: ProgramSpec, folder: Path) -> tuple[ProgramSpec, WordsFiles | None]:
    """The spec with the words of the folder that it names, relative to ``folder``, and their files; None without one.

    Raise ``WordsError`` where they cannot be read.
    """
    if not isinstance(spec.words, str):
        return spec, None
    files = WordsFiles(folder / spec.words)
    return replace(spec, words=files.words), files


def documents(folder: Path) -> Mapping[str, YamlDocument]:
    """The words files of a folder by language. Raise ``WordsError`` where they cannot be read, or are no YAML."""
    found = {file.stem: YamlDocument(data) for file, data in _contents(folder)}
    faults = [
        f"{folder / tag}{SUFFIX}:{problem.line}: {problem.message}"
        for tag, document in found.items()
        for problem in document.problems
    ]
    if faults:
        raise WordsError(*faults)
    return found


def empty_fields(folder: Path) -> Iterator[str]:
    """The fields of all files with nothing in them, a line each. Raise ``WordsError`` where these cannot be read."""
    for tag, document in documents(folder).items():
        for path in _empty(document.value, ()):
            problem = document.problem(path, "nothing is written here", at_key=True)
            yield f"{folder / tag}{SUFFIX}:{problem.line}: {problem.path}: {problem.message}"


def given(value: Any) -> Any:
    """A value of a document without its empty fields: they are as fields that are not there."""
    if not isinstance(value, dict):
        return value
    return {name: given(content) for name, content in value.items() if content is not None}


def _empty(value: Any, path: YamlPath) -> Iterator[YamlPath]:
    if value is None:
        yield path
    elif isinstance(value, dict):
        for name, content in value.items():
            yield from _empty(content, (*path, name))


def _contents(folder: Path) -> Iterator[tuple[Path, bytes]]:
    left = MAX_BYTES_OF_ALL
    try:
        files = sorted(file for file in folder.iterdir() if file.suffix == SUFFIX)
        if not files:
            raise WordsError(f"{folder} holds no words: give a file a language, such as en{SUFFIX}")
        for file in files:
            with file.open("rb") as stream:
                data = stream.read(MAX_WORDS_BYTES + 1)
            if len(data) > MAX_WORDS_BYTES:
                raise WordsError(f"{file} has more than {MAX_WORDS_BYTES} bytes")
            left -= len(data)
            if left < 0:
                raise WordsError(f"{folder}: the words have more than {MAX_BYTES_OF_ALL} bytes")
            yield file, data
    except OSError as error:
        raise WordsError(f"{folder} cannot be read: {error.strerror}") from None
    except ValueError:
        raise WordsError(f"{str(folder)!r} is no path") from None

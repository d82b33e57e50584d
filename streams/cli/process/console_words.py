"""Drafts the words that pages and letters need, and says what they lack."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import msgspec

from ....schemas.spec import ProgramSpec
from ....schemas.specfile import SpecError
from ....schemas.words.draft import DraftedWords, FilledWords
from ....schemas.words.file import MAX_WORDS_BYTES, SUFFIX, WordsError, documents, empty_fields
from ....schemas.words.form import LanguageTag
from ....schemas.words.languages import ENGLISH
from ....schemas.words.numbers import locale_of
from ....schemas.yamltree import YamlDocument
from ...console.page_words import lacks_of_pages
from ...errors import UsageError, writing
from ...printable import printable
from ...programs.spec_check import load_program_spec

WORDS = "words"
CHECK = "onward console words --check"
SERVED = "pages can be served"


def draft_words(spec: Path, language: str | None = None) -> None:
    """Add what pages need and words lack to their files, to those of one ``language`` where it is given.

    Says what is written on standard output. A spec without words gets the line that names their folder. Raises
    ``SpecError`` for a spec that is wrong beyond what is drafted, and ``UsageError`` where words cannot be drafted.
    """
    if language is not None:
        _check_language(language)
    stated = _stated(spec)
    if stated.words is None:
        stated = _with_folder(spec)
    if not isinstance(stated.words, str):
        raise UsageError(
            f"{spec}: the words stand in the spec itself: move them to files, such as words/{ENGLISH}.yaml"
        )
    folder = spec.parent / stated.words
    there = sorted(file.stem for file in folder.glob(f"*{SUFFIX}"))
    for tag in [language] if language is not None else there or [ENGLISH]:
        _fill(stated, folder, tag)
    whole = not lacking_words(spec)
    print(printable(f"{spec}: {SERVED if whole else f'fill in what is empty, then run: {CHECK} {spec}'}"))


def lacking_words(spec: Path) -> Sequence[str]:
    """What the words of a spec lack, a line each: what is empty, what is missing, or what is no use for pages."""
    stated = _stated(spec)
    if isinstance(stated.words, str):
        folder = spec.parent / stated.words
        try:
            lacking = list(empty_fields(folder))
            for tag in documents(folder):
                lacking += [f"{folder / tag}{SUFFIX}: give {added}" for added in FilledWords(stated, folder, tag).added]
        except WordsError as error:
            return error.problems
        except ValueError as error:
            return [f"{folder}: {error}"]
        if lacking:
            return lacking
    return [f"{spec}: {lack}" for lack in lacks_of_pages(load_program_spec(spec).spec)]


def _stated(file: Path) -> ProgramSpec:
    """A spec with the folder of its words, which may be wrong; all else is right."""
    try:
        load_program_spec(file)
    except SpecError as error:
        others = [problem for problem in error.problems if problem.path != WORDS]
        if others:
            raise SpecError(others, file) from None
    return msgspec.convert(YamlDocument(file.read_bytes()).value, ProgramSpec)


def _with_folder(file: Path) -> ProgramSpec:
    """Add to a spec the line that names its words, and draft the English ones as ``onward spec draft`` does."""
    text = file.read_bytes().decode("utf-8-sig")
    text += "" if text.endswith("\n") else "\n"
    if YamlDocument(f"{text}{WORDS}: {WORDS}\n".encode()).problems:
        raise UsageError(f"{file}: give it `{WORDS}`, the name of a folder beside it, as in {WORDS}: {WORDS}")
    words = DraftedWords(text, file)
    if words.spec == text:
        raise UsageError("\n".join(f"{file}: the words beside it do not fit: {fault}" for fault in words.faults))
    with writing(file):
        file.write_text(words.spec, encoding="utf-8")
    stated = _stated(file)
    print(printable(f"{file}: {WORDS}: {stated.words}"))
    if words.file is not None:
        with writing(words.file):
            words.file.parent.mkdir(parents=True)
            words.file.write_text(words.text, encoding="utf-8")
        print(printable(f"{words.file}: features: their names in the data, made readable"))
    return stated


def _fill(spec: ProgramSpec, folder: Path, tag: str) -> None:
    file = folder / f"{tag}{SUFFIX}"
    try:
        filled = FilledWords(spec, folder, tag)
    except WordsError as error:
        raise UsageError("\n".join(error.problems)) from None
    except ValueError as error:
        raise UsageError(f"{file}: {error}: add what `{CHECK}` names") from None
    if len(filled.text.encode()) > MAX_WORDS_BYTES:
        raise UsageError(f"{file} would have more than {MAX_WORDS_BYTES} bytes")
    if filled.added:
        with writing(file):
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(filled.text.encode())
    for added in filled.added or ["lacks nothing"]:
        print(printable(f"{file}: {added}"))


def _check_language(tag: str) -> None:
    try:
        msgspec.convert(tag, LanguageTag)
        locale_of(tag)
    except ValueError:
        raise UsageError(f"--language {tag}: give the tag of a language, such as en, en-GB or ar") from None

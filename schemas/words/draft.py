"""A first guess of a words file, from a drafted spec: the names of its columns, made readable."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

import msgspec

from ..draft.yaml_text import text as quoted
from ..spec import Feature, ProgramSpec
from ..yamltree import YamlDocument
from .file import MAX_WORDS_BYTES, WordsError, with_words
from .languages import ENGLISH
from .rules import word_violations
from .texts import guessed_feature

FOLDER = "words"
FILE = f"{ENGLISH}.yaml"
HEAD = """\
# What people read, in English: a first guess from the names of columns. Write names that a person understands, and what
# people do, as in {name: Your savings, up: save more, value: {money: EUR}}. The same in German goes into de.yaml.
features:
"""


class DraftedWords:
    """The words beside a drafted spec at ``output``, or those that lie there already, where they fit it.

    Words in ``words`` that do not fit may be another program's: then the folder is called after the spec's file.
    ``file`` is the one to write, None where there are words; ``faults`` say why those that are there do not fit;
    ``without_verbs`` what they lack of the features that may change, nothing where they have all.
    """

    def __init__(self, drafted: str, output: Path) -> None:
        self.file: Path | None = None
        self.faults: list[str] = []
        self.spec, self.text, self.without_verbs = drafted, "", ""
        for folder in (FOLDER, f"{output.stem}-{FOLDER}"):
            stated = drafted + spec_line(folder)
            spec = msgspec.convert(YamlDocument(stated.encode()).value, ProgramSpec)
            if not (output.parent / folder).exists():
                self.file, self.text, self.spec = output.parent / folder / FILE, _text(spec.features), stated
                break
            fault = next(_faults(spec, output.parent), None)
            if fault is None:
                self.without_verbs, self.spec = _without_verbs(spec, output.parent), stated
                break
            self.faults.append(fault)


def spec_line(folder: str) -> str:
    """The line of a spec that names the folder of its words."""
    return f"words: {quoted(folder)}  # what people read: {folder}/{FILE}, and other languages beside it\n"


def _faults(spec: ProgramSpec, folder: Path) -> Iterator[str]:
    try:
        read, files = with_words(spec, folder)
    except WordsError as error:
        yield from error.problems
        return
    assert files is not None, "the spec names a folder"
    yield from (files.in_file(path, message) for path, message in word_violations(read))


def _without_verbs(spec: ProgramSpec, folder: Path) -> str:
    """Which verbs the words in a folder lack, by language; nothing where they have all."""
    read, _ = with_words(spec, folder)
    assert not isinstance(read.words, str), "they have been read"
    lines = []
    for tag, words in (read.words or {}).items():
        lacking = []
        for feature in spec.features:
            given, guess = words.features.get(feature.name), guessed_feature(feature)
            verbs = [verb for verb in ("up", "down", "to") if getattr(guess, verb) and not getattr(given, verb, "")]
            if verbs and not (given and given.to):
                lacking.append(f"{feature.name} {' and '.join(verbs)}")
        if lacking:
            lines.append(f"{spec.words}/{tag}.yaml: give {', '.join(lacking)}: what people do, in words")
    return "; ".join(lines)


def _text(features: Iterable[Feature]) -> str:
    """The words of all features that people may be asked to change one day; of many, of those that may move now."""
    stated = [feature for feature in features if not feature.protected]
    for some in (stated, [feature for feature in stated if feature.mutable != "none"], list[Feature]()):
        text = HEAD + "".join(map(_lines, some)) if some else HEAD.replace("features:", "features: {}")
        if len(text.encode()) <= MAX_WORDS_BYTES:
            return text
    raise AssertionError("no feature needs no words")


def _lines(feature: Feature) -> str:
    guess = guessed_feature(feature)
    lines = f"  {quoted(feature.name)}:\n    name: {_phrase(guess.name)}\n"
    verbs = {"up": guess.up, "down": guess.down, "to": guess.to}
    lines += "".join(f"    {name}: {_phrase(verb)}\n" for name, verb in verbs.items() if verb)
    if guess.values:
        values = ", ".join(f"{quoted(value)}: {quoted(name)}" for value, name in guess.values.items())
        lines += f"    values: {{{values}}}\n"
    return lines


def _phrase(text: str) -> str:
    """A phrase without quotes, where it is of plain words."""
    return text if " " in text and all(word.isalpha() and word.isascii() for word in text.split(" ")) else quoted(text)

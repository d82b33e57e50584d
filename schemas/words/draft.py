"""First words of a program: readable names of columns in English, and empty fields for what only people know."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import msgspec

from ..draft.insertion import Field, Fields, block, with_fields
from ..draft.yaml_text import text as quoted
from ..spec import Feature, ProgramSpec
from ..yamltree import YamlDocument
from .file import MAX_WORDS_BYTES, SUFFIX, WordsError, documents, given, with_words
from .languages import ENGLISH, first_language
from .rules import needed_sentences, word_violations
from .sentences import own_sentences, page_sentences
from .texts import guessed_feature

FOLDER = "words"
FILE = f"{ENGLISH}{SUFFIX}"
HEAD = """\
# What people read, in English: a first guess from the names of columns. Write names that a person understands, and what
# people do, as in {name: Your savings, up: save more, value: {money: EUR}}. The same in German goes into de.yaml.
features:
"""
EMPTY_HEAD = "# What people read. Fill in what is empty; behind it stands what it says elsewhere, or what it is.\n"
ASKED: Mapping[str, Mapping[str, str]] = {
    "organisation": {
        "name": "what it is called",
        "contact": "its postal address, its telephone number, and when somebody is there",
        "ask": "where people ask a person: an address that begins with https:// or tel: or mailto:",
        "apply": "where people apply again: an address that begins with https://",
    },
    "program": {
        "name": "what people call it, as in: Personal loan",
        "applied": "what it was that people sent",
    },
}
"""What pages need beside the features."""
VERBS = ("up", "down", "to")


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


class FilledWords:
    """The words file of a language with the fields that pages need: what is there stays as it is.

    ``text`` is the whole file, ``added`` a line for each mapping that got fields. In English a feature without words
    gets those that its name suggests. All else is left empty, and so is not said to anybody. Raise ``WordsError`` where
    the files cannot be read, and ``ValueError`` where fields cannot be added.
    """

    def __init__(self, spec: ProgramSpec, folder: Path, tag: str) -> None:
        there = dict(documents(folder)) if folder.exists() else {}
        own = there.pop(tag, None)
        model = given(there[first_language(there)].value) if there else {}
        fields = _lacking(spec, tag, given(own.value) if own else {}, model)
        if own is None:
            self.text, self.added = EMPTY_HEAD + block(fields), list(fields)
        else:
            text = (folder / f"{tag}{SUFFIX}").read_bytes().decode()
            self.text, self.added = with_fields(text, fields)


def spec_line(folder: str) -> str:
    """The line of a spec that names the folder of its words."""
    return f"words: {quoted(folder)}  # what people read: {folder}/{FILE}, and other languages beside it\n"


def _lacking(spec: ProgramSpec, tag: str, words: Any, model: Any) -> dict[str, Fields | Field]:
    """What a language lacks; ``model`` are the words of another one, which stand behind empty fields as comments."""
    # In many languages its form depends on the sentence around it.
    around = {**page_sentences(ENGLISH), **page_sentences(tag)}["none.lede"]
    hints = {
        "program.applied": f"{_below(model, 'program', 'applied') or 'your loan application'}; it fits into: {around}"
    }
    fields: dict[str, Fields | Field] = {
        part: {
            name: Field(None, hints.get(f"{part}.{name}") or _below(model, part, name) or hint)
            for name, hint in asked.items()
        }
        for part, asked in ASKED.items()
    }
    features = {}
    for feature in (feature for feature in spec.features if feature.mutable != "none"):
        own = _below(words, "features", feature.name)
        if not own and tag.partition("-")[0] == ENGLISH:
            features[feature.name] = _guess(feature)
        else:
            features[feature.name] = _asked(feature, own or {}, _below(model, "features", feature.name) or {})
    there = {**own_sentences(tag), **page_sentences(tag)}
    english = {**{name: own_sentences(ENGLISH)[name] for name in needed_sentences(spec)}, **page_sentences(ENGLISH)}
    needed = {name: text for name, text in english.items() if name not in there}
    fields["features"] = features
    fields["sentences"] = {
        name: Field(None, text if isinstance(text, str) else text["other"]) for name, text in needed.items()
    }
    return {name: own for name, own in fields.items() if own}


def _guess(feature: Feature) -> Fields:
    """The fields of a feature as its name suggests them."""
    guess = guessed_feature(feature)
    fields: dict[str, Fields | Field] = {"name": Field(guess.name)}
    fields |= {verb: Field(text) for verb in VERBS if (text := getattr(guess, verb))}
    if guess.values:
        fields["values"] = {value: Field(name) for value, name in guess.values.items()}
    return fields


def _asked(feature: Feature, own: Mapping[str, Any], model: Mapping[str, Any]) -> Fields:
    """The fields of a feature, empty; a number is written as in the other language, but for its text."""
    guess = guessed_feature(feature)
    fields: dict[str, Fields | Field] = {"name": Field(None, model.get("name") or guess.name)}
    if feature.may_change and not own.get("to"):
        verbs = [verb for verb in VERBS if getattr(guess, verb)]
        fields |= {verb: Field(None, model.get(verb) or model.get("to") or getattr(guess, verb)) for verb in verbs}
    if guess.values and feature.may_change:
        names = model.get("values") or guess.values
        fields["values"] = {value: Field(None, names.get(value, value)) for value in guess.values}
    value = {} if own else model.get("value") or {}
    if value:
        text = {"text": Field(None, str(value["text"]))} if "text" in value else {}
        fields["value"] = {name: Field(scalar) for name, scalar in value.items()} | text
    return fields


def _below(words: Any, *path: str) -> Any:
    """What stands at a path of words; nothing where that is not there."""
    for name in path:
        words = words.get(name) if isinstance(words, dict) else None
    return words


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
            stated, guess = words.features.get(feature.name), guessed_feature(feature)
            verbs = [verb for verb in VERBS if getattr(guess, verb) and not getattr(stated, verb, "")]
            if verbs and not (stated and stated.to):
                lacking.append(f"{feature.name} {' and '.join(verbs)}")
        if lacking:
            lines.append(f"{spec.words}/{tag}.yaml: give {', '.join(lacking)}: what people do, in words")
    return "; ".join(lines)


def _text(features: Iterable[Feature]) -> str:
    """The words of all features that people may be asked to change one day; of many, of those that may move now."""
    stated = [feature for feature in features if not feature.protected]
    for some in (stated, [feature for feature in stated if feature.mutable != "none"], list[Feature]()):
        guesses = {feature.name: _guess(feature) for feature in some}
        text = HEAD + block(guesses, 2) if guesses else HEAD.replace("features:", "features: {}")
        if len(text.encode()) <= MAX_WORDS_BYTES:
            return text
    raise AssertionError("no feature needs no words")

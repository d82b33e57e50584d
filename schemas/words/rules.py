"""The rules of a program's words beyond the types of their fields."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from msgspec import UNSET, Struct, structs

from ..problems import did_you_mean
from ..spec import Feature, ProgramSpec
from ..yamltree import Path
from .form import FeatureWords, LanguageWords, ValueKind
from .languages import ENGLISH
from .numbers import has_currency, has_unit, locale_of
from .sentences import own_sentences, page_sentences, placeholders, sentences_of

MOST_LANGUAGES = 40
Violation = tuple[Path, str]


def word_violations(spec: ProgramSpec) -> Iterator[Violation]:
    """Every rule that the words of a spec violate, by the path below ``words``."""
    if spec.words is None:
        return
    if isinstance(spec.words, str):
        yield (), f"{spec.words!r} is a path: give the words themselves"
        return
    if not 0 < len(spec.words) <= MOST_LANGUAGES:
        yield (), f"{len(spec.words)} languages; give 1 to {MOST_LANGUAGES}"
    for tag, words in spec.words.items():
        for path, message in _language(tag, words, spec):
            yield (tag, *path), message


def _language(tag: str, words: LanguageWords, spec: ProgramSpec) -> Iterator[Violation]:
    try:
        locale = locale_of(tag)
    except ValueError as error:
        yield (), str(error)
        return
    yield from _unprintable(words, ())
    yield from _sentences(tag, words, spec)
    features = {feature.name: feature for feature in spec.features}
    for name, feature_words in words.features.items():
        if name not in features:
            yield ("features", name), f"no feature is called {name}{did_you_mean(name, features)}"
            continue
        yield from _feature(feature_words, features[name])
        if feature_words.value is not UNSET:
            for field, message in _value(feature_words.value, locale):
                yield ("features", name, "value", *field), message
    for feature in spec.features:
        if feature.mutable != "none" and feature.name not in words.features:
            moves = "may change" if feature.may_change else "follows others"
            yield ("features",), f"{feature.name} {moves}: give its name in this language"


def _feature(words: FeatureWords, feature: Feature) -> Iterator[Violation]:
    """The names of values are those of the feature, and of one that may change there are all."""
    where = ("features", feature.name)
    if words.values is not UNSET:
        for value in words.values:
            if value not in feature.values:
                hint = did_you_mean(value, feature.values)
                yield (*where, "values", value), f"{value} is no value of {feature.name}{hint}"
    if feature.values and words.value is not UNSET:
        yield (*where, "value"), f"{feature.name} is no number: give `values`, the names of its values"
    lacking = [value for value in feature.values if value not in (words.values or {})]
    if lacking and feature.may_change:
        yield where, f"`values` lacks the name of {', '.join(lacking)}"


def _value(kind: ValueKind, locale: Any) -> Iterator[Violation]:
    given = [name for name in ("money", "unit", "percent", "text") if getattr(kind, name)]
    if len(given) > 1:
        yield (), f"{' and '.join(given)} exclude each other: give one"
    if kind.money is not UNSET and not has_currency(kind.money):
        yield ("money",), f"{kind.money} is no currency: give a code of ISO 4217, such as EUR"
    if kind.unit is not UNSET and not has_unit(locale, kind.unit):
        yield ("unit",), f"{kind.unit} is no unit of CLDR, such as duration-month; give `text`"
    if kind.text is not UNSET:
        if isinstance(kind.text, str):
            yield from ((("text",), message) for message in _filled_in(kind.text, {"number"}, {"number"}))
        else:
            yield from _forms(kind.text, ("text",), {"number"}, set())


def _forms(forms: Mapping[str, str], path: Path, known: set[str], needed: set[str]) -> Iterator[Violation]:
    """What is wrong with a text by plural form: ``other`` fills in all that is known, the others what is ``needed``."""
    if "other" not in forms:
        yield path, "the form `other` is missing"
    for form, text in forms.items():
        messages = _filled_in(text, known, known if form == "other" else needed)
        yield from (((*path, form), message) for message in messages)


def _sentences(tag: str, words: LanguageWords, spec: ProgramSpec) -> Iterator[Violation]:
    ours, pages = own_sentences(ENGLISH), page_sentences(ENGLISH)
    for name, text in words.sentences.items():
        sentence = ours.get(name) or pages.get(name)
        if sentence is None:
            yield ("sentences", name), f"no sentence is called {name}{did_you_mean(name, [*ours, *pages])}"
            continue
        filled_in = set(placeholders(sentence if isinstance(sentence, str) else sentence["other"]))
        if isinstance(text, str):
            yield from ((("sentences", name), message) for message in _filled_in(text, filled_in, filled_in))
        elif isinstance(sentence, str):
            yield ("sentences", name), "has no plural forms: give one text"
        else:
            yield from _forms(text, ("sentences", name), filled_in, filled_in - {"n"})
    lacking = [name for name in needed_sentences(spec) if name not in sentences_of(tag, words.sentences)]
    if lacking:
        yield (), f"Onward has no sentences in {tag}: give, in `sentences`, {', '.join(lacking)}"


def needed_sentences(spec: ProgramSpec) -> list[str]:
    """The sentences of answers by their names. What follows from changes is told only where something does."""
    return [name for name in own_sentences(ENGLISH) if name != "follows.line" or spec.effects or spec.computed]


def _filled_in(text: str, known: set[str], needed: set[str]) -> Iterator[str]:
    """What is wrong with the places of a text that are filled in: each is known, and what is needed is there."""
    try:
        found = placeholders(text)
    except ValueError as error:
        yield f"{error}: write {', '.join(f'{{{name}}}' for name in sorted(known)) or 'no braces'}"
        return
    for name in sorted(set(found) - known):
        yield f"{{{name}}} is nothing that is filled in here{did_you_mean(name, known)}"
    for name in sorted(needed - set(found)):
        yield f"{{{name}}} is missing"


def _unprintable(value: object, path: Path) -> Iterator[Violation]:
    """Texts with characters that nobody sees: line breaks, control characters, those that turn the text around."""
    if isinstance(value, str):
        if not all(char.isprintable() or unicodedata.category(char) == "Zs" for char in value):
            yield path, "holds a line break or a character that cannot be printed"
    elif isinstance(value, Struct):
        yield from _unprintable_fields(
            ((field.name, getattr(value, field.name)) for field in structs.fields(value)), path
        )
    elif isinstance(value, Mapping):
        for name in value:
            yield from _unprintable(name, path)
        yield from _unprintable_fields(value.items(), path)


def _unprintable_fields(fields: Iterable[tuple[str, object]], path: Path) -> Iterator[Violation]:
    for name, content in fields:
        yield from _unprintable(content, (*path, name))

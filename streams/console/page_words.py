"""The sentences of pages and letters in one language of a program."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from functools import cached_property

from msgspec import structs

from ...schemas.spec import ProgramSpec
from ...schemas.words.form import LanguageWords
from ...schemas.words.languages import ENGLISH
from ...schemas.words.numbers import date_format, form_of, locale_of
from ...schemas.words.sentences import SentenceForms, own_sentences, page_sentences
from ...schemas.words.texts import LanguageTexts, guessed_feature

ADDRESSES = ("https://", "http://", "mailto:", "tel:")
"""How links on pages may begin."""


class PageWords:
    """What a program says in one language.

        words = PageWords(spec, "en-GB")
        words.say("ways.one", n=2)             # "Here are 2 ways. You need only one."

    Raise ``ValueError`` where the words are not whole: the lacks, a line each.
    """

    def __init__(self, spec: ProgramSpec, tag: str) -> None:
        words = words_of(spec)[tag]
        lacks = list(_lacks(tag, words))
        if lacks:
            raise ValueError("\n".join(lacks))
        self.tag, self.words = tag, words
        # A feature that may change no more may have lost its words, and stands in what people were told before.
        named = {**{feature.name: guessed_feature(feature) for feature in spec.features}, **words.features}
        self.texts = LanguageTexts(tag, structs.replace(words, features=named), spec)
        self._locale = locale_of(tag)
        self.sentences: Mapping[str, SentenceForms] = {**own_sentences(tag), **page_sentences(tag), **words.sentences}
        self.day_of = date_format(self._locale)

    @property
    def direction(self) -> str:
        """``rtl`` or ``ltr``."""
        return str(self._locale.text_direction)

    @cached_property
    def name(self) -> str:
        """What the language is called in itself, such as Deutsch."""
        return str(self._locale.get_language_name(self._locale.language) or self.tag).capitalize()

    def say(self, sentence: str, *, n: int | None = None, **given: str) -> str:
        """A sentence by its name; of one with forms that of the number ``n``."""
        forms = self.sentences[sentence]
        if not isinstance(forms, str):
            forms = form_of(forms, self._locale, Decimal(n or 0))
        return forms.format(n=n, **given) if n is not None or given else forms

    def day(self, time_ms: int) -> str:
        """The day of a time, in UTC, written out."""
        return self.day_of(datetime.fromtimestamp(time_ms / 1000, UTC).date())

    def last_day(self, expires_at: str, since_ms: int) -> str:
        """Until when something holds: the last whole day, of UTC, before it ends, or the minute where there is none."""
        ends = datetime.fromisoformat(expires_at).astimezone(UTC)
        whole = (ends - timedelta(days=1)).date()
        if whole >= datetime.fromtimestamp(since_ms / 1000, UTC).date():
            return self.day_of(whole)
        return f"{self.day_of(ends.date())}, {ends:%H:%M} UTC"


def words_of(spec: ProgramSpec) -> Mapping[str, LanguageWords]:
    """The words of a spec, by language; nothing where it has none."""
    assert not isinstance(spec.words, str), "the words have been read"
    return spec.words or {}


def lacks_of_pages(spec: ProgramSpec) -> Iterator[str]:
    """What the words of a spec lack before pages and letters can be written, a line each."""
    if not words_of(spec):
        yield f"{spec.program} has no words: give its spec `words`; `onward console words` drafts them"
    for tag, words in words_of(spec).items():
        yield from _lacks(tag, words)


def _lacks(tag: str, words: LanguageWords) -> Iterator[str]:
    needed = {
        "organisation": {name: getattr(words.organisation, name) for name in ("name", "contact", "ask", "apply")},
        "program": {name: getattr(words.program, name) for name in ("name", "applied")},
    }
    for part, fields in needed.items():
        for name, text in fields.items():
            if not text:
                yield f"{tag}.yaml: {part}: give `{name}`"
    for name in ("ask", "apply"):
        address = needed["organisation"][name]
        if address and not address.startswith(ADDRESSES):
            yield f"{tag}.yaml: organisation: {name}: {address!r} is no address: begin it with {' or '.join(ADDRESSES)}"
    lacking = [name for name in page_sentences(ENGLISH) if name not in {**page_sentences(tag), **words.sentences}]
    if lacking:
        yield f"{tag}.yaml: Onward has no sentences in {tag}: give, in `sentences`, {', '.join(lacking)}"

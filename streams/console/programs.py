"""The programs of a console: their specs, and the words of their pages."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property

from ...schemas.specfile import LoadedSpec
from ...schemas.words.languages import first_language
from ..errors import UsageError
from .page_words import PageWords, lacks_of_pages, words_of


class ConsoleProgram:
    """A program with whole words. Raise ``UsageError``, with all that they lack, where they are not."""

    def __init__(self, loaded: LoadedSpec) -> None:
        self.loaded, self.spec = loaded, loaded.spec
        lacks = list(lacks_of_pages(self.spec))
        if lacks:
            raise UsageError("\n".join(f"{loaded.path}: {lack}" for lack in lacks))

    @property
    def name(self) -> str:
        """Its name in events."""
        return self.spec.program

    @cached_property
    def languages(self) -> Mapping[str, PageWords]:
        """Its words by language."""
        return {tag: PageWords(self.spec, tag) for tag in sorted(words_of(self.spec))}

    def in_language(self, wanted: Sequence[str]) -> PageWords:
        """The words in the first of these languages that it has, else in English, else in its first one."""
        for tag in wanted:
            near = [own for own in self.languages if own.partition("-")[0] == tag.partition("-")[0].lower()]
            if near:
                return self.languages[tag if tag in near else near[0]]
        return self.languages[first_language(self.languages)]


def console_programs(loaded: Iterable[LoadedSpec]) -> Mapping[str, ConsoleProgram]:
    """Programs by name. Raise ``UsageError`` where one comes twice, or lacks words."""
    programs: dict[str, ConsoleProgram] = {}
    for one in loaded:
        if one.spec.program in programs:
            raise UsageError(f"program {one.spec.program!r} is given twice")
        programs[one.spec.program] = ConsoleProgram(one)
    return programs


def accepted_languages(header: str) -> list[str]:
    """The languages of an Accept-Language header, the most wanted first.

    Examples
    --------
    >>> accepted_languages("de;q=0.8, ar, en;q=0.9, *;q=0.1")
    ['ar', 'en', 'de']
    >>> accepted_languages("nonsense;q=x")
    []
    """
    ranked = []
    for place, part in enumerate(header[:1000].split(",")):
        tag, _, quality = part.strip().partition(";q=")
        try:
            ranked.append((-float(quality or 1), place, tag))
        except ValueError:
            continue
    return [tag for _, _, tag in sorted(ranked) if tag and tag != "*"]

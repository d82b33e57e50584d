"""Texts that anybody may have sent, without orders to a screen."""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence

from msgspec.structs import replace

from ..schemas.events import NoRecourse, Option, Recourse


def printable(line: str) -> str:
    """The line with its control and direction characters escaped: it holds what anybody may have sent.

    Spaces stay, such as those that a language writes between digits.
    """
    if line.isprintable():
        return line
    return "".join(char if _is_seen(char) else char.encode("unicode_escape").decode() for char in line)


def _is_seen(char: str) -> bool:
    return char.isprintable() or unicodedata.category(char) == "Zs"


def answer_in_words(answer: Recourse | NoRecourse, language: str | None = None) -> str:
    """An answer in lines, in a language of its texts. A name of a person is one line, whatever stands in it."""
    if isinstance(answer, Recourse):
        answer = replace(answer, options=in_language(answer.options, language))
    elif language is not None and answer.text:
        answer = replace(answer, detail=answer.text[language])
    named = replace(answer, application=printable(answer.application))
    return "\n".join(map(printable, str(named).split("\n")))


def in_language(options: Sequence[Option], language: str | None) -> tuple[Option, ...]:
    """Options that tell themselves in a language of their texts; None leaves them as they are."""
    return tuple(
        [
            replace(option, text={language: option.text[language]}) if language and option.text else option
            for option in options
        ]
    )

"""Texts that anybody may have sent, without orders to a screen."""

from __future__ import annotations

from msgspec.structs import replace

from ..schemas.events import NoRecourse, Recourse


def printable(line: str) -> str:
    """The line with its control and direction characters escaped: it holds what anybody may have sent."""
    if line.isprintable():
        return line
    return "".join(char if char.isprintable() else char.encode("unicode_escape").decode() for char in line)


def answer_in_words(answer: Recourse | NoRecourse) -> str:
    """An answer in lines. A name of a person is one line, whatever stands in it."""
    named = replace(answer, application=printable(answer.application))
    return "\n".join(map(printable, str(named).split("\n")))

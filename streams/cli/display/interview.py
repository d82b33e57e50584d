"""Asks on a terminal what a draft must not assume, one question after the other."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from typing import NamedTuple

from ....schemas.draft.questions import Answer, DraftQuestion
from ...printable import printable


class _Asked(NamedTuple):
    """A question in words, what may be written with what it means, and what Enter means."""

    text: str
    answers: Mapping[str, Answer]
    offered: str
    by_enter: Answer | None = None


def _label(question: DraftQuestion) -> _Asked:
    answers: dict[str, Answer] = {str(choice): choice for choice in question.choices}
    offered = f"write {', '.join(answers)}; Enter leaves it undecided"
    return _Asked("which value is the desired outcome?", answers, offered)


def _mutable(question: DraftQuestion) -> _Asked:
    answers: dict[str, Answer] = {key: word for word in question.choices for key in (str(word), str(word)[0])}
    offered = f"write {', '.join(str(word) for word in question.choices if word != 'none')}; Enter for no"
    return _Asked("can a person change it, and which way?", {**answers, "no": "none"}, offered, "none")


def _not_given(question: DraftQuestion) -> _Asked:
    codes = ", ".join(map(str, question.codes))
    return _Asked(f"does {codes} stand for no value?", _YES_NO, "write yes or no; Enter leaves it closed")


def _dropped(_: DraftQuestion) -> _Asked:
    offered = "write yes or no; Enter leaves them apart, and closed"
    return _Asked("is 0 in all of them one more category?", _YES_NO, offered)


def _effects(question: DraftQuestion) -> _Asked:
    answers: dict[str, Answer] = {str(choice): choice for choice in question.choices}
    offered = f"write {', '.join(map(str, question.choices))}; Enter leaves it open, and none follows"
    return _Asked("when people change one of them, do the others follow, and which one is it?", answers, offered)


_YES_NO: Mapping[str, Answer] = {"yes": True, "y": True, "no": False, "n": False}
_KINDS: Mapping[str, Callable[[DraftQuestion], _Asked]] = {
    "label": _label,
    "mutable": _mutable,
    "not_given": _not_given,
    "dropped": _dropped,
    "effects": _effects,
}


class DraftInterview:
    """Asks each question on standard error and reads its answer from standard input. Its end ends the interview."""

    def __init__(self) -> None:
        self._is_over = False
        self._has_begun = False

    def __call__(self, question: DraftQuestion) -> Answer | None:
        """The answer; None where there is none, by Enter or at the end of the input."""
        if self._is_over:
            return None
        if not self._has_begun:
            self._has_begun = True
            _say("What nobody answers stays as safe as it is. Ctrl-D ends the questions.")
        asked = _KINDS[question.kind](question)
        _say(f"\n{question.name}: {asked.text}")
        _say(f"  {question.seen}")
        while True:
            print(f"  {printable(asked.offered)}: ", end="", file=sys.stderr, flush=True)
            line = sys.stdin.readline()
            if not line:
                self._is_over = True
                _say("\nno more answers: the rest is left as it is")
                return None
            given = line.strip()
            if not given:
                return asked.by_enter
            if given in asked.answers:
                return asked.answers[given]
            _say(f"  {given!r} is none of them")


def _say(line: str) -> None:
    for part in line.split("\n"):
        print(printable(part), file=sys.stderr)

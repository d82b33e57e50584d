"""What a draft asks people, and the answers that they have given.

    decisions = Decisions(Answers(mutable={"income": "up"}), ask)
    draft_spec("loans.csv", "repaid", decisions)
    decisions.answers                            # those that were kept, and the new ones

An answer that was kept is taken where it fits the data. Else ``ask`` is asked, of what nobody may assume. A question
without an answer stays undecided, and then nothing happens to anybody.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Literal, NamedTuple

import msgspec

from ..events import Value
from ..spec import Mutable
from ..type_errors import type_errors
from ..yamltree import YamlDocument

Kind = Literal["label", "mutable", "not_given", "dropped", "effects"]


class DraftQuestion(NamedTuple):
    """One question about the column ``name``.

    ``label``: which of the ``choices`` is desired. ``mutable``: which way people can change it. ``not_given``: whether
    the ``codes`` stand for no value. ``dropped``: whether 0 in all of some columns is one more category.
    ``effects``: which of the ``choices`` the others follow when people change it, or none. ``seen`` is what the data
    say.
    """

    kind: Kind
    name: str
    seen: str
    choices: Sequence[Value]
    codes: tuple[Value, ...] = ()


Answer = Value | bool
Ask = Callable[[DraftQuestion], Answer | None]
"""Asks somebody; None where nobody answers."""


class DraftAnswers(msgspec.Struct, forbid_unknown_fields=True, omit_defaults=True):
    """Answers by the name of the column. ``not_given`` and ``amounts`` hold what stands for no value or outcome, and
    what looks like it and is one; ``dropped`` the categories of which one has no column; ``effects`` the column that
    others follow, or none, by the first of them all."""

    label: dict[str, Value] = {}
    mutable: dict[str, Mutable] = {}
    not_given: dict[str, list[Value]] = {}
    amounts: dict[str, list[Value]] = {}
    dropped: dict[str, bool] = {}
    effects: dict[str, str] = {}


class AnswersError(Exception):
    """A file of answers that cannot be used: ``file:line: path: message``."""

    exit_code = 2


class DraftDecisions:
    """The ``answers`` to the questions of a draft: those that were kept, and those that ``ask`` brings."""

    def __init__(self, answers: DraftAnswers | None = None, ask: Ask | None = None) -> None:
        self.answers = DraftAnswers() if answers is None else answers
        self._ask = ask
        self._met: set[tuple[str, str]] = set()
        self.has_new = False
        self.misfits: list[str] = []
        """A line for each kept answer that does not fit the data."""

    def kept(self, question: DraftQuestion) -> Answer | None:
        """The answer that was kept, where it fits."""
        self._met.add((question.kind, question.name))
        if question.kind == "not_given":
            return self._kept_codes(question)
        given: Mapping[str, Answer] = getattr(self.answers, question.kind)
        answer = given.get(question.name)
        if answer is None or answer in question.choices:
            return answer
        choices = ", ".join(map(_shown, question.choices))
        self.misfits.append(f"{question.kind}.{question.name}: {_shown(answer)} does not fit: one of {choices} does")
        return None

    def decide(self, question: DraftQuestion) -> Answer | None:
        """The answer that was kept, else the one that somebody gives now; None where nobody does."""
        answer = self.kept(question)
        if answer is not None or self._ask is None:
            return answer
        answer = self._ask(question)
        if answer is not None:
            self._keep(question, answer)
        return answer

    def defer(self, question: DraftQuestion) -> None:
        """Take no answer that opens anything, for the reason that the question's ``seen`` gives."""
        answer = self.kept(question)
        if answer is not None and answer != "none":
            self.misfits.append(f"{question.kind}.{question.name}: not taken: {question.seen}")

    def unused(self) -> list[str]:
        """A line for each kept answer that does not fit, or that no question was asked for."""
        asked = self._met | {("amounts", name) for kind, name in self._met if kind == "not_given"}
        given = ((kind, name) for kind in self.answers.__struct_fields__ for name in getattr(self.answers, kind))
        gone = (".".join(key) for key in given if key not in asked)
        return [*self.misfits, *(f"{place}: nothing is asked about it: no column, or no feature" for place in gone)]

    def _kept_codes(self, question: DraftQuestion) -> bool | None:
        codes = set(question.codes)
        for kind, answer in (("not_given", True), ("amounts", False)):
            if codes and codes <= set(getattr(self.answers, kind).get(question.name, ())):
                return answer
        for kind in ("not_given", "amounts"):
            if question.name in getattr(self.answers, kind):
                shown = ", ".join(map(_shown, question.codes)) or "no number"
                self.misfits.append(f"{kind}.{question.name}: does not fit: {shown} stands apart now")
        return None

    def _keep(self, question: DraftQuestion, answer: Answer) -> None:
        self.has_new = True
        if question.kind == "not_given":
            kept = self.answers.not_given if answer else self.answers.amounts
            kept[question.name] = list(question.codes)
        else:
            getattr(self.answers, question.kind)[question.name] = answer


def read_answers(file: Path) -> DraftAnswers:
    """The answers of a YAML or JSON file. Raises ``AnswersError``."""
    try:
        data = file.read_bytes()
    except OSError as error:
        raise AnswersError(f"{file}: cannot be read: {error.strerror}") from None
    document = YamlDocument(data)
    problems = document.problems or [
        document.problem(path, message, at_key=at_key)
        for path, message, at_key in type_errors(document.value, DraftAnswers)
    ]
    if problems:
        parts = ((f"{file}:{line}", path, message) for line, _, path, message in sorted(problems))
        raise AnswersError("\n".join(": ".join(part for part in texts if part) for texts in parts))
    return msgspec.convert(document.value, DraftAnswers)


def answers_text(answers: DraftAnswers, *, as_json: bool) -> str:
    """Answers as a file that ``read_answers`` reads, in YAML or JSON."""
    if as_json:
        return msgspec.json.format(msgspec.json.encode(answers)).decode() + "\n"
    lines = ["# Answers to what onward spec draft asks: --answers takes them again. Delete a line to be asked anew."]
    for kind, given in msgspec.to_builtins(answers).items():
        lines.append(f"{kind}:")
        # Flow values of JSON are values of YAML too.
        lines += [f"  {_json(name)}: {_json(answer)}" for name, answer in given.items()]
    return "\n".join(lines) + "\n"


def _json(value: object) -> str:
    return msgspec.json.encode(value).decode()


def _shown(value: Answer) -> str:
    return str(value) if isinstance(value, int | float) else repr(value)

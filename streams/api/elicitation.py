"""Questions to one person, without Kafka: which of these plans would be easier for you?"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import NoReturn

import msgspec
from msgspec import UNSET, Raw
from msgspec.structs import replace

from ...agents.choices.questions import NO_ANSWER, Belief
from ...schemas.events import NoRecourse, Option, Recourse, Value
from ..engine.assessment import AssessedPerson, Assessment, assess
from ..engine.questions.dialogue import Dialogue, NoPlanError
from ..engine.state import CurrentModel
from ..errors import UsageError
from ..programs.program import Program
from ..replay.suggestions import suggest
from .arguments import checks_arguments


class AnswerError(UsageError, ValueError):
    """An answer to no question, or one that was not offered."""


@dataclass(frozen=True)
class Question:
    """A question: which of these plans would be easier for you? ``print`` shows it in words.

    Parameters
    ----------
    number
        It counts the person's questions from 1.
    options
        The plans, each with what it is expected to cost, as far as is known. Their ids are the numbers to answer with.
    """

    number: int
    options: tuple[Option, ...]

    def __str__(self) -> str:
        return "\n".join([f"Question {self.number}: which of these would be easier for you?", *self.lines])

    @property
    def lines(self) -> tuple[str, ...]:
        """The plans in words, a line each, without costs: a person is to judge by themselves."""
        return tuple(f"  {option.id}. {option.actions}" for option in self.options)


class Elicitation:
    """The questions to one person, and what is known after their answers. ``Program.elicit`` makes one.

    Examples
    --------
    >>> import onward
    >>> from pathlib import Path
    >>> spec = Path("loans.yaml").read_text().replace("generator: search", "generator: plans, cost: mixed")
    >>> _ = Path("asking.yaml").write_text(spec + "elicitation: {questions: 1, tolerance: 0}")
    >>> elicitation = onward.load_program("asking.yaml").elicit({"income": 35, "debts": 6, "region": "north"})
    >>> len(elicitation.question.options)
    2
    >>> elicitation.answer(1)
    >>> elicitation.question is None, elicitation.answers
    (True, (1,))
    >>> elicitation.recourse.regret == elicitation.regret
    True
    >>> elicitation.answer(1)
    Traceback (most recent call last):
    onward.streams.api.elicitation.AnswerError: nothing is asked any more: `recourse` is what to tell
    """

    def __init__(self, program: Program, name: str, features: Mapping[str, Value | None], at_ms: int) -> None:
        self._answer = next(suggest(program, {name: features}, at_ms), None)
        self._picked: list[int] = []
        self._model = CurrentModel.from_bundle(program, program.bundle)
        self._dialogue = self._begun(program, features)
        self._course = None if self._dialogue is None else self._dialogue.course(self._picked)
        self._belief = None if self._course is None else next(self._course)

    def _begun(self, program: Program, features: Mapping[str, Value | None]) -> Dialogue | None:
        """The dialogue with the person; None where they are approved, or no plan leads anywhere."""
        if not isinstance(self._answer, Recourse):
            return None
        person = AssessedPerson(Raw(msgspec.json.encode(features)), approved=False)
        assessment = assess(program, self._model, {0: person})[0]
        assert isinstance(assessment, Assessment), "the person has been checked"
        try:
            return Dialogue(self._model, assessment)
        except NoPlanError:
            return None

    @property
    def approved(self) -> bool:
        """Whether the program's model approves the person: then there is nothing to ask or to tell."""
        return self._answer is None

    @property
    def question(self) -> Question | None:
        """The next question; None where nothing is left to ask."""
        return self._current[0]

    @property
    def recourse(self) -> Recourse | NoRecourse | None:
        """The answer to the person, by what is known now; None where they are approved.

        Its first option is the plan that is expected to be the best for them. Another one follows only where it may be
        better.
        """
        return self._current[1]

    @property
    def regret(self) -> float | None:
        """By how much the first option is expected to be worse than the person's best plan; None without plans.

        It is in units of cost.
        """
        return None if self._belief is None else self._belief.regret

    @property
    def answers(self) -> tuple[int | None, ...]:
        """The answers so far: the number of the picked plan in each question, None for none of them."""
        return tuple(None if picked == NO_ANSWER else picked + 1 for picked in self._picked)

    @checks_arguments
    def answer(self, number: int | None) -> None:
        """Answer the question with the number of the plan that the person would take, or None for none of them.

        Raises
        ------
        OnwardError
            Also a ``ValueError``: where the number was not offered, or nothing is asked.
        """
        question = self.question
        if question is None or self._course is None:
            raise AnswerError("nothing is asked any more: `recourse` is what to tell")
        most = len(question.options)
        if number is not None and (type(number) is not int or not 1 <= number <= most):
            raise AnswerError(f"the answer is {number!r}: give a number from 1 to {most}, or None for none of them")
        self._picked.append(NO_ANSWER if number is None else number - 1)
        self._belief = next(self._course)
        del self._current

    @cached_property
    def _current(self) -> tuple[Question | None, Recourse | NoRecourse | None]:
        """The question and the recourse, as far as is known."""
        answer, dialogue, belief = self._answer, self._dialogue, self._belief
        if dialogue is None or belief is None or not isinstance(answer, Recourse):
            return None, answer
        return self._question(dialogue, belief, answer), self._recourse(dialogue, belief, answer)

    def _question(self, dialogue: Dialogue, belief: Belief, answer: Recourse) -> Question | None:
        options = dialogue.question(belief, answer.execution_source or "assumed")
        return Question(len(self._picked) + 1, options) if options else None

    def _recourse(self, dialogue: Dialogue, belief: Belief, answer: Recourse) -> Recourse:
        options = dialogue.options(belief, answer.execution_source or "assumed")
        return replace(answer, options=options, regret=belief.regret, answers=self.answers, satisfied=UNSET)

    def __reduce__(self) -> NoReturn:
        raise UsageError(
            "an Elicitation cannot be pickled: keep its `answers`, and give them again to `Program.elicit`"
        )

    def __repr__(self) -> str:
        return f"<Elicitation: {len(self._picked)} answers>"

"""Figures of questions: what was asked and answered, and how near people's easiest plan the answers bring them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

from msgspec import Struct

from .....environments.truth import WeightWorld
from .....schemas.events import DeadLetter, Option, Question, Recourse
from ....topics import Topics
from ...display.words import percentage
from ..contract import Figures
from ..run_stats import Summary
from ..sections import Section
from .manners import QUESTIONS, Manner


class QuestionSummary(Struct, frozen=True):
    """``expired`` counts the people who were told their recourse with a question open, ``refused`` the answers that did
    not count.

    ``regret_by_answers`` is the mean share by which the first option costs a person above their own cheapest plan: of
    those who answer no question, at most one, and so on. None where nobody has been answered yet.
    """

    asked: int
    answered: int
    expired: int
    refused: int
    regret_by_answers: tuple[float | None, ...]


class ElicitationOwn(Struct, frozen=True):
    """The field of this world in ``--json``."""

    questions: QuestionSummary


class ElicitationFigures(Figures):
    """Counts questions, and measures what is recommended to people who answer in different ``manners``, by round."""

    def __init__(self, total: int, world: WeightWorld, manners: Sequence[Manner]) -> None:
        super().__init__(total)
        self._world, self._manners = world, manners
        self._asked: Counter[tuple[str, str]] = Counter()
        self._answered: dict[tuple[str, str], int] = {}
        self._refused = 0
        self._excess: list[list[float]] = [[] for _ in range(QUESTIONS + 1)]

    def add(self, event: Struct) -> None:
        """Count an event, if it is about questions."""
        match event:
            case Question():
                self._asked[event.program, event.application] += 1
            case Recourse(is_revision=False, answers=tuple() as answers):
                self._answered[event.program, event.application] = len(answers)
            case DeadLetter():
                self._refused += event.topic.endswith(Topics(prefix="").answers)

    def read(self, t: int, options: Sequence[Option]) -> Any:
        """The features of application t after each option, once the cost of the first one is measured."""
        targets = self._world.targets(t, options)
        excess = self._world.excess(t, targets[0])
        if excess is not None:
            self._excess[self._manners[self._world.round_of(t)].answers].append(excess)
        return targets

    def own(self) -> ElicitationOwn:
        """The questions and answers so far."""
        expired = sum(self._asked[person] > answers for person, answers in self._answered.items())
        regret = tuple(sum(each) / len(each) if each else None for each in self._excess)
        answered = sum(self._answered.values())
        return ElicitationOwn(QuestionSummary(self._asked.total(), answered, expired, self._refused, regret))

    def line(self, summary: Summary) -> str:
        """How much dearer than their own cheapest plan people's first option is."""
        regret = self.own().questions.regret_by_answers
        return "above the cheapest plan after 0, 1, ... answers: " + " / ".join(map(percentage, regret))

    def sections(self) -> Sequence[Section]:
        """The same as a table, and below it what was asked."""
        own = self.own().questions
        rows = [("answers", "above their own cheapest plan")]
        rows += [(str(answers), percentage(regret)) for answers, regret in enumerate(own.regret_by_answers)]
        counts = f"{own.asked:,} questions, {own.answered:,} answered; {own.expired:,} people let a deadline pass, "
        return [Section("Questions to people", rows, [f"{counts}{own.refused:,} answers did not count"])]

"""The terms of programs that ask: a rejected person is asked until no answer would help much, and then answered."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from msgspec.structs import replace

from ....agents.choices.questions import Standing
from ....agents.costs import Lesson
from ....schemas.encoding import Problem
from ....schemas.events import Question
from ....schemas.headers import format_time
from ...programs.program import Program
from ..answers import Decided, Terms, answer_people
from ..assessment import Person, Selected, assess
from ..cases import ASKED, Asked, Case
from ..fold import Fold
from ..picks.pick import teach
from ..picks.population import learned_preferences
from ..state import CurrentModel
from .dialogue import Dialogue, NoPlanError
from .recall import answers_told, recall


class QuestionTerms(Terms):
    """The terms of an answer to people who are asked first, unless ``asks`` is false: their time is over.

    Who waits for a question has been decided already.
    """

    def __init__(self, model: CurrentModel, *, asks: bool = True) -> None:
        super().__init__(model)
        self._asks = asks
        self._standing: Standing | None = None
        self._lesson: Lesson | None = None

    def settle(self, person: Decided, fold: Fold) -> Decided:
        """End the promise that a person came back with, when they are decided."""
        return person if person.case.status is ASKED else super().settle(person, fold)

    def report_decision(self, person: Decided, fold: Fold) -> None:
        """Publish or count a decision, once."""
        if person.case.status is not ASKED:
            super().report_decision(person, fold)

    def ask_first(self, person: Decided, fold: Fold) -> Decided | None:
        """Ask the next question; without one, the person with the plans that are expected to be the easiest for them.

        People for whom there is no plan are answered as in any other program.
        """
        self._standing = self._lesson = None
        case, assessment = person.case, person.assessment
        begun = case.asked or self._begin(case, fold)
        believed = np.frombuffer(begun.believed) if begun.believed else None
        try:
            dialogue = None if assessment is None else Dialogue(self.model, assessment, believed)
        except NoPlanError:
            dialogue = None
        if dialogue is None:
            return person
        self._standing, asked = recall(dialogue, begun)
        if dropped := sum(now != before for now, before in zip(asked.answers, begun.answers, strict=True)):
            fold.count("questions", self.program.name, "dropped", dropped)
        if self._asks and self._standing.question:
            self._ask(case, asked, dialogue, self._standing, fold)
            return None
        case.asked, self._lesson = asked if asked.questions else None, dialogue.lesson(self._standing)
        assessment, selected = dialogue.selected(self._standing)
        return person._replace(assessment=assessment, selected=selected)

    def fields(self, person: Decided, none: str | None) -> Mapping[str, Any]:
        """The regret, and the answers on which a recourse rests."""
        if none is not None or self._standing is None:
            return {}
        asked = person.case.asked
        return {"regret": self._standing.regret, "answers": () if asked is None else answers_told(asked)}

    def answered(self, person: Decided, selected: Sequence[Selected], fold: Fold) -> None:  # noqa: ARG002
        """Let the population learn from what the person has said."""
        if self._lesson is not None:
            teach(person.case, self.program, self._lesson, fold.entry, fold)

    def _begin(self, case: Case, fold: Fold) -> Asked:
        """Nothing has been asked yet."""
        preferences = learned_preferences(fold.state, self.program.name, case.shard)
        believed = b"" if preferences is None else preferences.shares.tobytes()
        return Asked((), b"", 0, case.time_ms + self.program.answer_ms, believed)

    def _ask(self, case: Case, asked: Asked, dialogue: Dialogue, standing: Standing, fold: Fold) -> None:
        """Publish the next question, and let the case wait for its answer."""
        (name, application), model, program = case.key, self.model, self.program
        options = dialogue.question(standing, program.first_execution_source)
        questions = (*asked.questions, dialogue.question_hash(standing))
        case.asked = replace(asked, questions=questions, offered=len(options))
        # Another system has rejected the person, or the model: no second decision counts.
        case.approved = False
        case.wait(ASKED, asked.expires_ms + program.lateness_ms)
        number, until = len(questions), format_time(asked.expires_ms)
        signed = program.sha256, model.bundle.version, case.applicant, model.bundle.manifest_sha256
        event = Question(name, case.shard, application, number, options, until, *signed)
        fold.count("questions", name, "asked")
        fold.emit(event, f"question/{name}/{application}/{number}", case.time_ms, name, case.shard)


def go_on(case: Case, program: Program, fold: Fold, *, asks: bool = True) -> None:
    """Ask somebody the next question, or answer them where there is none, or their time is over."""
    assert case.features is not None, f"{case.key} is asked"
    model = fold.state.model(program)
    assessed = assess(program, model, {case.key: Person(case.features, approved=False)})[case.key]
    person = (
        Decided(case, approved=False, refusal=(assessed.reason, assessed.detail))
        if isinstance(assessed, Problem)
        else Decided(case, approved=False, assessment=assessed)
    )
    answer_people([person], QuestionTerms(model, asks=asks), fold)

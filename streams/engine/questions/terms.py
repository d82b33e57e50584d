"""The terms of programs that ask: a rejected person is asked until no answer would help much, and then answered."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from msgspec.structs import replace

from ....agents.choices.questions import Belief
from ....schemas.encoding import Problem
from ....schemas.events import ExecutionSource, Question
from ....schemas.headers import format_time
from ...programs.program import Program
from ..assessment import AssessedPerson, ElicitedAnswers, SelectedOption, assess, reasons_of
from ..cases import ASKED, Case, QuestionLog
from ..fold import Fold
from ..picks.pick import REGRET_DTYPE, update_preferences
from ..picks.population import learned_preferences
from ..replies import DecidedCase, Terms, answer_people, recourse_id
from ..shards import Shard
from ..state import CurrentModel
from .dialogue import Dialogue, NoPlanError
from .recall import answers_told, recall


class QuestionTerms(Terms):
    """The terms of an answer to people who are asked first, unless ``asks`` is false: their time is over.

    Whoever has an open question was decided before: they are neither settled nor reported again.
    """

    def __init__(self, model: CurrentModel, *, asks: bool = True) -> None:
        super().__init__(model)
        self._asks = asks

    def settle(self, person: DecidedCase, fold: Fold) -> DecidedCase:
        """End the promise that a person came back with, when they are decided."""
        return person if person.case.status is ASKED else super().settle(person, fold)

    def report_decision(self, person: DecidedCase, fold: Fold) -> None:
        """Publish or count a decision, once."""
        if person.case.status is not ASKED:
            super().report_decision(person, fold)

    def ask_first(self, person: DecidedCase, fold: Fold) -> DecidedCase | None:
        """Publish the next question, and return None; else return the person with the recommended plans selected.

        Somebody without a plan is returned unchanged.
        """
        case, assessment = person.case, person.assessment
        if assessment is None:
            return person
        begun = case.asked or self._begin(case, fold)
        try:
            dialogue, belief, asked = recall(self.model, assessment, begun)
        except NoPlanError:
            return person
        if self._asks and belief.question:
            self._ask(case, asked, dialogue, belief, fold)
            return None
        regrets = dialogue.regrets(belief)
        elicited = ElicitedAnswers(answers_told(asked), regrets, dialogue.lesson(belief), bool(begun.believed))
        case.asked = replace(asked, regrets=regrets.astype(REGRET_DTYPE).tobytes()) if asked.questions else None
        assessment, selected = dialogue.selected(belief)
        return person._replace(assessment=assessment, selected=selected, elicited=elicited)

    def execution_source(self, person: DecidedCase, shard: Shard, fold: Fold) -> ExecutionSource:
        """Learned where others had answered before the person was asked."""
        return "learned" if person.elicited is not None and person.elicited.believed else shard.execution_source

    def extra_fields(self, person: DecidedCase, none: str | None) -> Mapping[str, Any]:
        """The regret, and the answers on which a recourse rests."""
        if none is not None or person.elicited is None:
            return {}
        return {"regret": person.elicited.regrets.item(0), "answers": person.elicited.answers}

    def after_answer(self, person: DecidedCase, selected: Sequence[SelectedOption], fold: Fold) -> None:
        """Let the population learn from what the person has said, and count how much that was."""
        case, elicited = person.case, person.elicited
        if elicited is None:
            return
        fold.count("elicited_recourses", self.program.name, str(len(elicited.answers) - elicited.answers.count(None)))
        if elicited.lesson is not None:
            update_preferences(case, self.program, elicited.lesson, ("recourse", recourse_id(case.key)), fold)

    def _begin(self, case: Case, fold: Fold) -> QuestionLog:
        """Nothing has been asked yet."""
        preferences = learned_preferences(fold.state, self.program.name, case.shard)
        believed = b"" if preferences is None else preferences.shares.tobytes()
        length_ms = self.program.answer_ms
        expires_ms = fold.begin_ms(case.key, case.time_ms, length_ms, self.program) + length_ms
        return QuestionLog((), b"", 0, expires_ms, believed)

    def _ask(self, case: Case, asked: QuestionLog, dialogue: Dialogue, belief: Belief, fold: Fold) -> None:
        """Publish the next question, and let the case wait for its answer."""
        (name, application), model, program = case.key, self.model, self.program
        options = dialogue.question(belief, program.first_execution_source)
        questions = (*asked.questions, dialogue.shown(belief))
        case.asked = replace(asked, questions=questions, offered=len(options))
        # Another system has rejected the person, or the model: no second decision counts.
        case.approved = False
        case.wait(ASKED, asked.expires_ms + program.lateness_ms)
        number = len(questions)
        event = Question(
            program=name,
            shard=case.shard,
            application=application,
            number=number,
            options=options,
            expires_at=format_time(asked.expires_ms),
            spec=program.sha256,
            model=model.bundle.version,
            applicant=case.applicant,
            model_sha256=model.bundle.manifest_sha256,
        )
        fold.count("questions", name, "asked")
        fold.emit(event, f"question/{name}/{application}/{number}", case.time_ms, name, case.shard)


def go_on(case: Case, program: Program, fold: Fold, *, asks: bool = True) -> None:
    """Ask somebody the next question, or answer them where there is none, or their time is over."""
    assert case.features is not None, f"{case.key} is asked"
    model = fold.state.model(program)
    assessed = assess(program, model, {case.key: AssessedPerson(case.features, approved=False)})[case.key]
    person = (
        DecidedCase(case, approved=False, refusal=(assessed.reason, assessed.detail))
        if isinstance(assessed, Problem)
        else DecidedCase(case, approved=False, assessment=assessed, reasons=reasons_of(model, [assessed.values])[0])
    )
    answer_people([person], QuestionTerms(model, asks=asks), fold)

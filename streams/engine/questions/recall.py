"""The belief about a person under the model in force, from the answers that their case keeps.

A new model or spec may ask otherwise. Then what was answered before counts as evidence: the person preferred one of the
plans that were shown to them. What is asked from then on follows from the new model.
"""

from __future__ import annotations

import numpy as np
from msgspec.structs import replace

from ....agents.choices.questions import NO_ANSWER, Belief
from ..assessment import Assessment
from ..cases import QuestionLog
from ..state import CurrentModel
from .dialogue import Dialogue


def recall(model: CurrentModel, assessment: Assessment, asked: QuestionLog) -> tuple[Dialogue, Belief, QuestionLog]:
    """The dialogue with a person, what is known after their answers, and these, as far as they are of another model.

    Raises
    ------
    NoPlanError
        Where no plan reaches the goal.
    """
    dialogue = _dialogue(model, assessment, asked)
    answers: list[int] = []
    course = dialogue.course(answers)
    belief = next(course)
    for place in range(asked.earlier, len(asked.answers)):
        if dialogue.shown(belief) != asked.questions[place]:
            asked = replace(asked, earlier=len(asked.answers))
            dialogue = _dialogue(model, assessment, asked)
            return dialogue, dialogue.belief_after(()), asked
        answers.append(asked.answers[place])
        belief = next(course)
    return dialogue, belief, asked


def _dialogue(model: CurrentModel, assessment: Assessment, asked: QuestionLog) -> Dialogue:
    columns = len(assessment.options.person)
    targets = [np.frombuffer(shown).reshape(-1, columns) for shown in asked.questions[: asked.earlier]]
    believed = np.frombuffer(asked.believed) if asked.believed else None
    picked = [None if answer == NO_ANSWER else answer for answer in asked.answers]
    return Dialogue(model, assessment, believed, list(zip(targets, picked, strict=False)))


def answers_told(asked: QuestionLog) -> tuple[int | None, ...]:
    """The answers, as events tell them: the number of the picked plan, None for none."""
    return tuple(None if answer == NO_ANSWER else answer + 1 for answer in asked.answers)

"""What is known of a person under the model in force, from the answers that their case keeps.

A new model or spec may ask otherwise. Then the answers stand to those first questions that it asks too, and the others
are dropped: nobody knows what they say of other plans.
"""

from __future__ import annotations

from typing import Final

from msgspec.structs import replace

from ....agents.choices.questions import NO_ANSWER, Standing
from ..cases import Asked
from .dialogue import Dialogue

DROPPED: Final = 254
"""The byte of a dropped answer."""


def recall(dialogue: Dialogue, asked: Asked) -> tuple[Standing, Asked]:
    """What is known after the answers that stand, and the same answers, those marked that are dropped."""
    standing_answers: list[int] = []
    course, answers = dialogue.course(standing_answers), asked.answers
    standing = next(course)
    for place, answer in enumerate(answers):
        if answer == DROPPED:
            continue
        if dialogue.question_hash(standing) != asked.questions[place]:
            dropped = bytes([DROPPED]) * (len(answers) - place)
            return standing, replace(asked, answers=answers[:place] + dropped)
        standing_answers.append(answer)
        standing = next(course)
    return standing, asked


def answers_told(asked: Asked) -> tuple[int | None, ...]:
    """The answers that stand, as events tell them: the number of the picked plan, None for none."""
    return tuple(None if answer == NO_ANSWER else answer + 1 for answer in asked.answers if answer != DROPPED)

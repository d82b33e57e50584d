"""Picks: a person has said which option they would take. The population's preferences learn from it, once a person."""

from __future__ import annotations

from typing import Final

import numpy as np

from ....agents.costs import Lesson, ServedShares
from ....agents.evidence import EVIDENCE_UNIT
from ...journal.entries import Entry
from ...programs.program import Program
from ..cases import Case, Picked
from ..fold import Fold
from ..portion import PreferenceUpdate
from ..sharing.increment import publish_increment
from .population import preferences_to_teach

LESSON_DTYPE: Final = "<i4"
"""The numbers by which a case keeps a lesson: multiples of the unit of evidence, all that is learned of it."""
REGRET_DTYPE: Final = "<f4"
"""The numbers by which a case keeps regrets."""
NONE: Final = "none"
"""The place of people who would take no option, as a label."""


def keep_lessons(case: Case, served: ServedShares) -> None:
    """Keep with a case what each pick of its options would teach."""
    units = np.rint(np.array(served.lessons) / EVIDENCE_UNIT)
    case.picked = Picked(units.astype(LESSON_DTYPE).tobytes())


class ForgottenError(Exception):
    """An earlier lesson of a person has been forgotten in part, and cannot be taken back."""


def pick(entry: Entry, case: Case, place: int, program: Program, fold: Fold) -> None:
    """Let the pick of an open case be this place, the number of options for none, as an entry says.

    What was learned of an earlier pick is undone.

    Raises
    ------
    ForgottenError
        Where that cannot be. Nothing is changed then.
    """
    picked = case.picked or Picked()
    if picked.place == place:
        return
    lesson = _lesson(case, picked, place)
    if lesson is not None or picked.taught is not None:
        earlier = None if picked.taught is None else _kept(case, picked, picked.taught)
        update_preferences(case, program, lesson, (entry.kind.name, entry.id), fold, earlier)
    if picked.place is None:
        fold.count("picks", program.name, NONE if place == len(case.options) else str(place + 1))
        _compare_regrets(case, place, fold)
    picked.taught, picked.place = None if lesson is None else place, place
    case.picked = picked
    fold.save(case)


def update_preferences(
    case: Case,
    program: Program,
    lesson: Lesson | None,
    event: tuple[str, str],
    fold: Fold,
    earlier: Lesson | None = None,
) -> None:
    """Let the population of a case's shard learn a lesson, and undo an earlier one of the same person.

    ``event`` is the kind and the id of that with which it is learned. Where the shard has learned enough since its last
    increment, it publishes another.

    Raises
    ------
    ForgottenError
        Where the earlier one cannot be undone. Nothing is changed then.
    """
    preferences, shard = preferences_to_teach(program, case.shard, fold), fold.state.shard(program, case.shard)
    assert preferences is not None, f"{case.key} has lessons"
    before = preferences.shares
    if earlier is not None:
        if preferences.forgets:
            raise ForgottenError
        preferences.retract(earlier)
    if lesson is not None:
        preferences.learn(lesson)
    fold.effects.preference_updates.append(PreferenceUpdate(case.key, *event, before, preferences.shares))
    fold.effects.shards.add(shard.key)
    shard.untold += not preferences.forgets
    publish_increment(shard, fold.entry.time_ms, fold)


def _compare_regrets(case: Case, place: int, fold: Fold) -> None:
    """Compare the regret that somebody was told with the one that their pick lets see; none lets nothing be seen."""
    if case.asked is None or place == len(case.options) or case.options[place].revised_arm is not None:
        return
    if case.asked.regrets:
        expected, *seen = np.frombuffer(case.asked.regrets, REGRET_DTYPE).tolist()
        program = case.key.program
        fold.count("regrets", program)
        fold.count("regrets_told", program, times=expected)
        fold.count("regrets_seen", program, times=seen[place])


def _lesson(case: Case, picked: Picked, place: int) -> Lesson | None:
    """The lesson of the pick of a place; None where the costs are known, or the option stands for another."""
    moved = place < len(case.options) and case.options[place].revised_arm is not None
    return None if moved or not picked.lessons else _kept(case, picked, place)


def _kept(case: Case, picked: Picked, place: int) -> Lesson:
    units = np.frombuffer(picked.lessons, LESSON_DTYPE).reshape(len(case.options) + 1, 2, -1)
    return Lesson(*(units[place] * EVIDENCE_UNIT))

"""Stages: what a learner by stages is told of a recourse, while it is open and when it is closed.

At any time the learner has learned one lesson of a recourse, that of what is known so far. More that is heard takes it
back and teaches another: so it does not matter in which order things are heard, and what silence has taught does not
outlast it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from msgspec.structs import replace

from ....agents.choices import Pull, Seen
from ..cases import Acting, Case
from ..fold import Fold
from ..shards import Shard
from ..sharing.increment import publish_increment

NOTHING: Final = Seen()
"""What is seen of a person of whom nothing is."""


def pull_of(case: Case, option_index: int) -> Pull:
    """The pull of one of a case's options."""
    assert case.step is not None, f"{case.key} has options without a step"
    suggested = case.options[option_index]
    return Pull(case.step, suggested.arm, suggested.execution, suggested.context)


def note_acting(case: Case, shard: Shard, acting: Acting, how: str, time_ms: int, fold: Fold) -> None:
    """Keep with an open case whether its person acted, and teach it; count ``how`` it became known.

    Where the shard has learned enough since its last increment, it publishes another.
    """
    seen = Seen(acting.acted, None, shard.program.silence_is_inaction)
    taught = learn_stages(case, shard, seen, acting.option, fold)
    case.acting = replace(acting, taught=taught)
    fold.save(case)
    fold.count("acting", shard.program.name, how)
    publish_increment(shard, time_ms, fold)


def learn_stages(case: Case, shard: Shard, seen: Seen, option_index: int | None, fold: Fold) -> tuple[int, ...]:
    """Let the learner of a case learn what is seen, in the place of what it has learned of the case so far.

    ``option_index`` is that of the option that it is about, None where nobody knows. Return the indices of the options
    whose pulls it has learned it of: none of those that stand for another, and none where it does not learn by stages.
    """
    if not shard.program.learns_by_stages:
        return ()
    before = case.acting
    if before is not None and (before.acted, None, before.option) == (seen.acted, seen.helped, option_index):
        return before.taught
    if before is not None:
        _teach(case, shard, Seen(before.acted), before.taught, -1)
        fold.effects.shards.add(shard.key)
    indices = range(len(case.options)) if option_index is None else [option_index]
    taught = tuple([index for index in indices if case.options[index].revised_arm is None])
    if seen.helped is None and not seen.either_way:
        return ()
    _teach(case, shard, seen, taught, 1)
    if taught and seen.either_way and seen.acted is not None and (before is None or before.acted != seen.acted):
        stated = max(case.options[index].execution for index in taught)
        fold.count("known_acting", case.key.program)
        fold.count("stated_acting", case.key.program, times=stated)
        fold.count("seen_acting", case.key.program, times=seen.acted)
    fold.effects.shards.add(shard.key)
    return taught


def _teach(case: Case, shard: Shard, seen: Seen, indices: Sequence[int], sign: int) -> None:
    if indices and (seen.acted, seen.helped) != (None, None):
        shard.learner.learn([pull_of(case, index) for index in indices], seen, sign)
        shard.untold += bool(shard.learner.additive)

"""The fates of recourses and outcomes.

Three fates close a recourse, once: *rewarded* (an outcome came in the window), *censored* (the window closed, the
learner gets a reward of 0) and *unseen* (the person was never shown it, the learner takes the pull back). Two are fates
of outcomes: *late* (after the window) and *dangling* (there is no recourse, or not yet one at the outcome's time).
"""

from __future__ import annotations

from ....agents.choices import Pull
from ....schemas.events import Fate, Reward
from ...journal.entries import Entry, shard_of
from ..cases import Case, Status, joined
from ..fold import Fold
from ..state import Shard

CLOSED: dict[Status, Fate] = {Status.REWARDED: "rewarded", Status.CENSORED: "censored", Status.UNSEEN: "unseen"}
"""The fates that close a recourse."""


def credited(case: Case, option: str | None) -> int | None:
    """Return the 0-based index of the option that an outcome names.

    An outcome without an option means the only one; None when there are several.

    Raise ``KeyError`` when the recourse has no option of this id.
    """
    if option is None:
        return 0 if len(case.options) == 1 else None
    if option.isdecimal() and 1 <= int(option) <= len(case.options) and option == str(int(option)):
        return int(option) - 1
    raise KeyError(option)


def learn(shard: Shard, case: Case, reward: float | None, option: int | None) -> None:
    """Report an outcome's reward to the learner; ``reward`` None means the person never saw the recourse.

    The credited option's pull gets the reward and the other pulls are taken back. Without a credited option among
    several, a reward of 0 is that of the easiest, and for a reward above 0 all pulls are taken back. Without a reward,
    too, all pulls are taken back, and so they are for an option that was revised on another arm.
    """
    assert case.step is not None, f"{case.key} has options without a step"
    taken_up = _taken_up(case, option, reward)
    for number, suggested in enumerate(case.options):
        pull = Pull(case.step, suggested.arm, suggested.execution)
        if reward is not None and number == taken_up and suggested.revised_arm is None:
            shard.learner.update(pull, reward)
        else:
            shard.learner.retract(pull)


def learn_censored(shard: Shard, case: Case) -> None:
    """Report a reward of 0, unless that teaches the learner nothing."""
    if not shard.program.ignores_silence:
        learn(shard, case, 0.0, None)


def close(
    case: Case, shard: Shard, status: Status, reward: float | None, option: int | None, time_ms: int, fold: Fold
) -> None:
    """Close a recourse and publish its fate. ``option`` is the number of the credited option."""
    program, application = case.key
    case.status, case.forget_ms, case.features = status, fold.forget_ms(shard.program, time_ms), None
    fold.save(case)
    fold.effects.shards.add(shard.key)
    fate = CLOSED[status]
    arm = None if option is None else case.options[option].candidate
    number = None if option is None else str(option + 1)
    event = Reward(program, case.shard, application, fate, reward, case.step, arm, case.outcome_event_id, number)
    fold.count("fates", program, fate)
    if reward is not None:
        taken_up = _taken_up(case, option, reward)
        if taken_up is not None and case.options[taken_up].revised_arm is None:
            fold.effects.predictions.append((program, case.options[taken_up].execution, reward))
    fold.emit(event, f"reward/{program}/{application}", time_ms, program, case.shard)


def late(entry: Entry, case: Case, option: int | None, fold: Fold) -> None:
    """Publish the fate of an outcome that came after the window of its recourse."""
    arm = None if option is None else case.options[option].candidate
    _publish(entry, "late", fold, case.step, arm, None if option is None else str(option + 1))


def dangling(entry: Entry, fold: Fold) -> None:
    """Publish the fate of an outcome that has no recourse."""
    _publish(entry, "dangling", fold)


def _publish(
    entry: Entry,
    fate: Fate,
    fold: Fold,
    step: int | None = None,
    candidate: str | None = None,
    option: str | None = None,
) -> None:
    fold.remember(entry)
    name, application = entry.key
    shard = shard_of(application, fold.state.program(name).spec.shards)
    event = Reward(name, shard, application, fate, None, step, candidate, entry.id, option)
    fold.count("fates", name, fate)
    fold.emit(event, joined(fate, name, application, entry.id), entry.time_ms, name, shard)


def _taken_up(case: Case, option: int | None, reward: float | None) -> int | None:
    """The 0-based index of the option whose pull gets the reward; ``option`` is the credited one.

    Who does not improve and names no option has most likely tried the easiest.
    """
    if option is not None or reward != 0.0:
        return option
    executions = [suggested.execution for suggested in case.options]
    return executions.index(max(executions))

"""The fates of recourses and outcomes.

Three fates close a recourse, once: *rewarded* (an outcome came in the window), *censored* (the window closed, the
learner gets a reward of 0) and *unseen* (the person was never shown it, the learner takes the pull back). Two are fates
of outcomes: *late* (after the window) and *dangling* (there is no recourse, or not yet one at the outcome's time).
"""

from __future__ import annotations

from msgspec import UNSET, UnsetType

from ....agents.choices import Seen
from ....schemas.events import Fate, Reward
from ...journal.entries import Entry, shard_of
from ..cases import CENSORED, REWARDED, UNSEEN, Case, Status, joined
from ..fold import Fold
from ..shards import Shard
from ..sharing.increment import publish_increment
from .acting import NOTHING, learn_stages, pull_of
from .watch import RewardWatch, decile_of

CLOSED: dict[Fate, Status] = {"rewarded": REWARDED, "censored": CENSORED, "unseen": UNSEEN}
"""The fates that close a recourse, and the status of its case after each."""
WITHDRAWN = "withdrawn"
"""The fate of a recourse whose person was erased while it was open. It is counted; a receipt tells of it."""
ENDING = frozenset({*CLOSED, WITHDRAWN})
"""The fates after which a recourse is not open any more."""
_Names = tuple[str | None, str | None]
"""The arm and the id of an option, as events name them."""
REWARDS = "rewards"
"""The label of rewards in the count of drifts."""


def credited(case: Case, option: str | None) -> int | None:
    """Return the 0-based index of the option that an outcome names.

    An outcome without an option means the only one or, of several, the one that the person said they would take; None
    when they said nothing, or none.

    Raise ``KeyError`` when the recourse has no option of this id.
    """
    if option is None:
        return 0 if len(case.options) == 1 else case.picked_option
    if option.isdecimal() and 1 <= int(option) <= len(case.options) and option == str(int(option)):
        return int(option) - 1
    raise KeyError(option)


def close(
    case: Case,
    shard: Shard,
    fate: Fate,
    reward: float | None,
    option_index: int | None,
    time_ms: int,
    fold: Fold,
    seen: Seen = NOTHING,
) -> None:
    """End a recourse: report its reward to the learner, close the case and publish the fate.

    ``option_index`` is that of the credited option, from 0; ``reward`` is None where the person never saw the recourse.
    ``seen`` is what a learner by stages learns of it (``acting.py``). Of any other learner one pull at most gets the
    reward, and all others are taken back:

    ==============================  ========================
    credited option, reward         the pull with the reward
    ==============================  ========================
    an option                       that option's
    several, none credited, 0       the easiest option's
    several, none credited, above 0 none
    an option on a revised arm      none
    never seen                      none
    ==============================  ========================

    A window that closes is not reported where silence teaches nothing. Where the shard has learned enough since, it
    tells the others.
    """
    program, application = case.key
    if shard.program.learns_by_stages:
        learn_stages(case, shard, seen, option_index, fold)
        _watch_stages(case, shard, option_index, seen, time_ms, fold)
    else:
        taken_up = _taken_up(case, option_index, reward)
        if fate != "censored" or not shard.program.ignores_silence:
            _learn(case, shard, taken_up, reward)
        if reward is not None and taken_up is not None:
            _watch(case, shard, taken_up, reward, time_ms, fold)
    case.close(CLOSED[fate], fold.forget_ms(shard.program, time_ms))
    fold.save(case)
    fold.effects.shards.add(shard.key)
    if option_index is None and reward:
        fold.count("unnamed_outcomes", program)
    arm, option = _credited_names(case, option_index)
    acted = _known_acting(case, seen)
    event = Reward(program, case.shard, application, fate, reward, case.step, arm, case.outcome_event_id, option, acted)
    fold.count("fates", program, fate)
    fold.emit(event, f"reward/{program}/{application}", time_ms, program, case.shard)
    publish_increment(shard, time_ms, fold)


def withdraw(case: Case, shard: Shard, fold: Fold) -> None:
    """End an open recourse whose person is erased, as if it had never been seen: what it taught is taken back.

    No event names it.
    """
    if shard.program.learns_by_stages:
        learn_stages(case, shard, NOTHING, None, fold)
    else:
        _learn(case, shard, None, None)
    fold.effects.shards.add(shard.key)
    fold.count("fates", shard.program.name, WITHDRAWN)


def _known_acting(case: Case, seen: Seen) -> bool | UnsetType:
    if seen.acted is not None:
        return seen.acted
    return UNSET if case.acting is None or not case.acting.is_heard else case.acting.acted


def _learn(case: Case, shard: Shard, taken_up: int | None, reward: float | None) -> None:
    for number, suggested in enumerate(case.options):
        pull = pull_of(case, number)
        if reward is not None and number == taken_up and suggested.revised_arm is None:
            shard.learner.update(pull, reward)
            shard.untold += bool(shard.learner.additive)
        else:
            shard.learner.retract(pull)


def _watch(case: Case, shard: Shard, option_index: int, reward: float, time_ms: int, fold: Fold) -> None:
    """Hold a reward against what was expected of its option, and count a drift."""
    suggested = case.options[option_index]
    if suggested.revised_arm is not None:
        return
    labels = case.key.program, decile_of(suggested.execution)
    fold.count("predicted_executions", *labels, times=suggested.execution)
    fold.count("observed_rewards", *labels, times=reward)
    fold.count("resolved_options", *labels)
    expected = shard.learner.expected_reward(pull_of(case, option_index))
    if expected is None:
        return
    watch = fold.change(RewardWatch, shard.program, shard.number)
    watch.open(case.deadline_ms, case.due if case.counts_steps else None)
    if not watch.has_begun(time_ms, shard.step):
        watch.early += 1
    elif watch.add(expected, reward, time_ms):
        fold.count("drift_detected", shard.program.name, REWARDS)


def _watch_stages(case: Case, shard: Shard, option_index: int | None, seen: Seen, time_ms: int, fold: Fold) -> None:
    """Hold whether an option helped against what was expected of it, and count a drift.

    Nobody of whom nothing is heard counts, so there is no first window to wait for.
    """
    index = 0 if len(case.options) == 1 else option_index
    if index is None or seen.helped is None or case.options[index].revised_arm is not None:
        return
    expected = shard.learner.expected_of(pull_of(case, index), seen)
    if expected is None:
        return
    watch = fold.change(RewardWatch, shard.program, shard.number)
    if watch.add(*expected, time_ms):
        fold.count("drift_detected", shard.program.name, REWARDS)


def _credited_names(case: Case, option_index: int | None) -> _Names:
    return (None, None) if option_index is None else (case.options[option_index].arm_name, str(option_index + 1))


def late(entry: Entry, case: Case, option_index: int | None, fold: Fold) -> None:
    """Publish the fate of an outcome that came after the window of its recourse."""
    _publish(entry, "late", fold, case.step, _credited_names(case, option_index))


def dangling(entry: Entry, fold: Fold) -> None:
    """Publish the fate of an outcome that has no recourse."""
    _publish(entry, "dangling", fold)


def _publish(entry: Entry, fate: Fate, fold: Fold, step: int | None = None, names: _Names = (None, None)) -> None:
    fold.remember(entry)
    arm, option = names
    name, application = entry.key
    shard = shard_of(application, fold.state.program(name).spec.shards)
    event = Reward(name, shard, application, fate, None, step, arm, entry.id, option)
    fold.count("fates", name, fate)
    fold.emit(event, joined(fate, name, application, entry.id), entry.time_ms, name, shard)


def _taken_up(case: Case, option_index: int | None, reward: float | None) -> int | None:
    """The index of the option whose pull gets the reward; ``option_index`` is that of the credited one.

    Who does not improve, and has not said which option they would take, has most likely tried the easiest.
    """
    if option_index is not None or reward != 0.0:
        return option_index
    executions = [suggested.execution for suggested in case.options]
    return executions.index(max(executions))

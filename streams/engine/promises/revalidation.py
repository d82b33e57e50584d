"""Revalidation: a new model is asked about the open options, in bounded pieces.

It is not asked about those that it certainly accepts (``screen.py``). Of the others those nearest to a rejection come
first. When a person's options have been revalidated, their limit is set beyond the present path. So what is left to do
is one query of the ledger, and a replay cuts it alike.

An option that the model rejects is broken, and another stands for it where there is one (``replacement.py``). Where the
program honours what older models promised, it stays open instead.
"""

from __future__ import annotations

from collections.abc import Sequence

from msgspec.structs import asdict, replace

from ....agents.scores import LinearScore
from ....schemas.events import Revalidation
from ...journal.entries import Entry
from ...programs.program import Program
from ..contract import Work, WorkBudget
from ..fold import Fold
from ..state import CurrentModel
from .broken_options import Verdict, verdicts_of
from .ending import end_options, expire
from .promised_options import PromisedOptions
from .replacement import Replacement, find_replacements, replace_broken
from .screen import distance
from .state import PromiseState, Scan, ShardScan, change_promise, to_revalidate

REPLACEMENT_UNITS = 5
"""The cost of finding replacements of a person's broken options, in units."""
LARGE_MODEL_UNITS = 100
"""The same under a model that is no linear score."""
PEOPLE_PER_UNIT = 4
"""How many people are revalidated in the time of a unit."""
LEFT_PER_UNIT = 20
"""How many people with broken options are read in the time of a unit, and left to the next page."""
LEAST_PAGE, LARGEST_PAGE = 20, 2000
"""How many people are read at once."""


class RevalidationWork(Work[PromiseState]):
    """Asks a new model about the open options of a program."""

    state = PromiseState
    budget = WorkBudget(tick=200, other=5)
    """A unit is about 200 us. An application waits behind one or two ticks."""

    def do_piece(self, state: PromiseState, fold: Fold) -> int:
        """Revalidate a page of people, or publish the results."""
        assert state.scan is not None, "a model is new"
        page = min(LARGEST_PAGE, max(LEAST_PAGE, PEOPLE_PER_UNIT * state.credit))
        people = to_revalidate(state, page, fold)
        if people:
            return _revalidate(state, state.scan, people, fold)
        _publish(state, state.scan, fold)
        return 0

    def after_model(self, program: Program, old: CurrentModel, new: CurrentModel, entry: Entry, fold: Fold) -> None:
        """Begin to revalidate. A scan that is going on ends: what it has not come to is left to this one."""
        if not program.promises:
            return
        state = fold.change(PromiseState, program)
        if state.scan is not None:
            _publish(state, state.scan, fold)
        if program.spec.promise.grandfather:
            state.forget_models(fold.state.watermark_ms(program))
            state.keep_model(old.bundle)
        state.path += distance(program, old.bundle, new.bundle)
        state.models += 1
        shards = {shard: ShardScan(count) for shard, count in sorted(state.open.items()) if count}
        state.scan = Scan(new.bundle.version, new.bundle.manifest_sha256, entry.time_ms, shards)
        self.carry_on(state, self.budget.tick, fold)


REVALIDATION = RevalidationWork()


def _revalidate(state: PromiseState, scan: Scan, people: Sequence[PromisedOptions], fold: Fold) -> int:
    """Ask the model about people's open options; return the units of work.

    Somebody whose options are broken takes many units, so those beyond the credit are left to the next page.
    """
    model, honours = fold.state.model(state.program), state.program.spec.promise.grandfather
    linear = isinstance(model.bundle.model.score, LinearScore)
    units_of_replacement = REPLACEMENT_UNITS if linear else LARGE_MODEL_UNITS
    broken: list[Verdict] = []
    for verdict in verdicts_of(state.program, model.bundle, _in_time(people, scan, fold), state.path):
        if verdict.rejected and not honours:
            broken.append(verdict)
            continue
        _count(verdict, scan).honoured += len(verdict.rejected)
        change_promise(verdict.promise, _honoured(verdict), fold)
    now = broken[: max(1, state.credit // units_of_replacement)]
    replacements = find_replacements(model, now)
    for verdict in now:
        replacement = replacements.get(verdict.promise.key)
        shard = _count(verdict, scan)
        shard.broken += len(verdict.rejected)
        shard.replaced += 0 if replacement is None else len(replacement.selected)
        change_promise(verdict.promise, _broken(verdict, model, replacement, scan.time_ms, fold), fold)
    left = len(broken) - len(now)
    units = (len(people) - left) // PEOPLE_PER_UNIT + left // LEFT_PER_UNIT
    return 1 + units + units_of_replacement * len(now)


def _in_time(people: Sequence[PromisedOptions], scan: Scan, fold: Fold) -> list[PromisedOptions]:
    """The people whose options were open when the model came; the promises of the others end."""
    for promise in people:
        if promise.until_ms < scan.time_ms:
            expire(promise, fold)
    return [promise for promise in people if promise.until_ms >= scan.time_ms]


def _count(verdict: Verdict, scan: Scan) -> ShardScan:
    shard = scan.shards.setdefault(verdict.promise.shard, ShardScan())
    shard.accepted += len(verdict.accepted)
    if verdict.margin is not None:
        worst = shard.worst_margin
        shard.worst_margin = verdict.margin if worst is None else min(verdict.margin, worst)
    return shard


def _honoured(verdict: Verdict) -> PromisedOptions:
    """The open options of a person, of whom the rejected ones are judged by the model that made them."""
    options = verdict.promise.options
    if verdict.rejected:
        options = tuple([replace(option, honoured=option.honoured or option in verdict.rejected) for option in options])
    return replace(verdict.promise, options=options, path_limit=verdict.path_limit)


def _broken(
    verdict: Verdict, model: CurrentModel, replacement: Replacement | None, time_ms: int, fold: Fold
) -> PromisedOptions:
    """The open options of a person without the broken ones, and with those that stand for them; both are published."""
    promise, replaced = verdict.promise, () if replacement is None else tuple(replacement.selected)
    end_options(promise, verdict.rejected, "broken", time_ms, fold, reason="model", replaced=replaced)
    if replacement is not None:
        return replace_broken(verdict, replacement, model, time_ms, fold)
    return replace(promise, options=verdict.remaining, path_limit=verdict.path_limit)


def _publish(state: PromiseState, scan: Scan, fold: Fold) -> None:
    """Publish the results, shard by shard: the scan is over."""
    program, is_complete = state.program, not to_revalidate(state, 1, fold)
    for number, shard in sorted(scan.shards.items()):
        event = Revalidation(
            program=program.name,
            shard=number,
            model=scan.version,
            cleared=shard.rest if is_complete else 0,
            left=0 if is_complete else shard.rest,
            model_sha256=scan.sha256,
            **asdict(shard),
        )
        identity = f"revalidation/{program.name}/{number}/{state.models}"
        fold.emit(event, identity, scan.time_ms, program.name, number)
    state.scan = None

"""Selection: which options the learner picks for each rejected person of a portion.

Between applications with new names a learner cannot change. Their steps are taken together, as a *run*, when the first
of them is answered. The picks equal those of single steps, because a run ends before any entry that may change the
learner and holds only people who are certain to be answered.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import chain, islice, repeat
from typing import NamedTuple

import numpy as np

from ...agents.choices import Exploration, Pick
from ...agents.objective import Objective
from ...agents.options import OptionBatch
from ...schemas.encoding import Problem
from ..journal.entries import Entry, JournalPosition, shard_of
from ..programs.program import Program
from .assessment import Assessed, AssessedPerson, Assessment, SelectedOption, assess
from .help_intervals import with_intervals
from .picks.population import under_learned_preferences, with_learned_costs
from .shards import Shard
from .state import PartitionState
from .timing.timers import TimerQueue

COIN = (1,)
"""The ``use`` of ``step_generator`` for exploration: whether a step explores, and which option it draws."""


class _Run(NamedTuple):
    """People of one shard and one batch who take a step each: their positions and their rows in the batch."""

    batch: OptionBatch
    positions: list[JournalPosition]
    rows: list[int]


class LookAhead:
    """Assessments and selections that are computed ahead for a segment: for journal entries under one model.

    Parameters
    ----------
    state
        As it stands before the segment.
    timers
        Those that may fire in the portion.
    people
        The entries that may reject a person, each with the person.
    """

    def __init__(
        self, state: PartitionState, timers: TimerQueue, people: Sequence[tuple[Entry, AssessedPerson]]
    ) -> None:
        self._state = state
        self._timers = timers
        self._people = {entry.position: person for entry, person in people}
        self._assessed = _assess_all(state, people)
        self._runs: dict[JournalPosition, _Run] = {}
        self._selected: dict[JournalPosition, tuple[SelectedOption, ...]] = {}
        self._open_runs: dict[tuple[str, int], _Run] = {}

    # --- planning ---------------------------------------------------------------------------------------------------

    def extend_run(self, entry: Entry) -> None:
        """Plan that the person of this entry takes a step next: they are certain to be answered, if rejected."""
        assessment = self._assessed.get(entry.position)
        if not isinstance(assessment, Assessment) or assessment.batch is None:
            return
        program = self._state.program(entry.key.program)
        shard = program.name, shard_of(entry.key.application, program.spec.shards)
        run = self._open_runs.get(shard)
        if run is not None and run.batch is assessment.batch:
            run.positions.append(entry.position)
            run.rows.append(assessment.row)
        elif program.ignores_silence:
            run = _Run(assessment.batch, [entry.position], [assessment.row])
            self._open_runs[shard] = self._runs[entry.position] = run

    def end_runs(self) -> None:
        """End all open runs: the next entry may change a learner."""
        self._open_runs.clear()

    # --- folding ----------------------------------------------------------------------------------------------------

    def assessment(self, program: Program, position: JournalPosition, person: AssessedPerson) -> Assessment | Problem:
        """The assessment of the person at this position."""
        planned = self._people.get(position)
        # A name that was forgotten and used again has another person's features.
        if planned is not None and _same(planned, person):
            return self._assessed[position]
        return assess(program, self._state.model(program), {position: person})[position]

    def select(
        self, program: Program, shard: Shard, position: JournalPosition, assessment: Assessment
    ) -> tuple[SelectedOption, ...]:
        """Take the shard's next step for the person at this position.

        Return an empty tuple when the person has no options.
        """
        selected = self._selected.pop(position, None)
        if selected is not None:
            return selected
        run = self._runs.pop(position, None)
        # A timer that answers somebody would take a step in the middle of the run.
        if run is None or self._timers.may_answer(program.watermark):
            run = _Run(assessment.rejected_batch, [position], [assessment.row])
        first, *others = select_for_steps(program, shard, shard.step, run.batch, run.rows, self._state)
        self._selected.update(zip(run.positions[1:], others, strict=True))
        return first

    def check_all_used(self) -> None:
        """Raise ``AssertionError`` where options were selected for somebody whom the segment did not answer."""
        assert not self._selected, f"{len(self._selected)} steps were taken for people who were not answered"


def _same(one: AssessedPerson, other: AssessedPerson) -> bool:
    same_features = one.features is other.features or bytes(one.features) == bytes(other.features)
    return same_features and one.approved == other.approved


def step_generator(program: Program, shard: int, step: int, use: tuple[int, ...] = ()) -> np.random.Generator:
    """The random numbers of one step: the same for the same seed, program, shard, step and ``use``.

    The choice has the ``use`` (), exploration has ``COIN``.
    """
    name = int.from_bytes(program.name.encode(), "big")
    seed = np.random.SeedSequence([program.spec.policy.seed, name, shard], spawn_key=use)
    return np.random.Generator(np.random.Philox(seed).jumped(step))


def _assess_all(state: PartitionState, people: Sequence[tuple[Entry, AssessedPerson]]) -> Assessed:
    by_program: dict[str, dict[JournalPosition, AssessedPerson]] = {}
    for entry, person in people:
        by_program.setdefault(entry.key.program, {})[entry.position] = person
    assessed: dict[JournalPosition, Assessment | Problem] = {}
    for name, group in by_program.items():
        program = state.program(name)
        assessed.update(assess(program, state.model(program), group))
    return assessed


def select_for_steps(
    program: Program, shard: Shard, first_step: int, people: OptionBatch, rows: Sequence[int], state: PartitionState
) -> list[tuple[SelectedOption, ...]]:
    """Select options in consecutive steps of a shard, one for each of these rows of a batch.

    The shard's learner and population must not change between them. The caller counts the steps.
    """
    # A slice costs less than a copy, which matters where every step is taken alone.
    batch = people.select(np.array(rows) if len(rows) > 1 else slice(rows[0], rows[0] + 1))
    batch = under_learned_preferences(batch, program, shard.number, state)
    policy = program.spec.policy

    def random(after: int) -> np.random.Generator:
        return step_generator(program, shard.number, first_step + after)

    if policy.exploration:
        coins = (step_generator(program, shard.number, first_step + after, COIN) for after in range(batch.number))
        picks = Exploration(shard.learner, policy.exploration).select_batch(
            batch, policy.options, random, coins, second_way=policy.second_way
        )
    else:
        picks = shard.learner.select_batch(batch, policy.options, random, second_way=policy.second_way)
    selected = _selected(batch, picks, state.model(program).objective)
    if policy.improvement_interval is None:
        return selected
    return with_intervals(selected, picks, batch, state.model(program).objective, shard.learner, policy)


def _selected(
    batch: OptionBatch, picks: Sequence[tuple[Pick, ...]], objective: Objective
) -> list[tuple[SelectedOption, ...]]:
    picked = [batch.index_of(person, pick.arm) for person, of_person in enumerate(picks) for pick in of_person]
    if batch.samples is not None:
        batch = with_learned_costs(batch, picked)
    helps: Iterable[float | None] = repeat(None)
    if objective.aims and picked:
        owner = [person for person, of_person in enumerate(picks) for _ in of_person]
        helps = objective.helps(batch, picked, owner)
    arm, point, cost, execution = batch.arm.item, batch.point.item, batch.cost.item, batch.execution.item
    selected = iter(
        [
            SelectedOption(i, arm(i), point(i), cost(i), execution(i), propensity, learner_execution, context, helped)
            for i, (_, propensity, learner_execution, context), helped in zip(
                picked, chain.from_iterable(picks), helps, strict=False
            )
        ]
    )
    return [tuple(islice(selected, len(of_person))) for of_person in picks]

"""Another policy, evaluated on the log of a program: what it would have suggested at each step, and what that is worth.

It is asked at every step of the log, and learns from what the log's policy took and what came of it, when that learned
it (``agents/evaluation``).
"""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import msgspec
import numpy as np
from numpy.typing import NDArray

from ...agents.choices import TAP
from ...agents.costs import execution_probability
from ...agents.evaluation import Evaluation, Expectation, Follower, Log, evaluate
from ...schemas.spec import ModelReference, Policy, ProgramSpec, Retention
from ..engine.selection import step_generator
from ..errors import UsageError
from ..programs.program import Program
from ..programs.spec_check import policy_faults
from .journal_replay import Closing, Step

FOLLOWING = (2,)
"""The use of random numbers of the evaluated policy: it must not draw as the log's did."""


def with_choice(program: Program, choice: str, parameters: dict[str, float]) -> Program:
    """The program with another choice, all else of its policy as it is."""
    policy = msgspec.structs.replace(program.spec.policy, choice=choice, parameters=parameters)
    spec = msgspec.structs.replace(program.spec, policy=policy)
    for _, fault in policy_faults(spec):
        raise UsageError(fault)
    if choice == TAP.name and program.bundle.verifier is None:
        raise UsageError(f"model {program.bundle.version} has no verifier, which tap needs: train one anew")
    return replace(program, spec=spec)


def without_exploration(program: Program) -> Program:
    """The program as it is evaluated: its choice alone, which takes what it wants at every step."""
    policy = msgspec.structs.replace(program.spec.policy, exploration=0.0)
    return replace(program, spec=msgspec.structs.replace(program.spec, policy=policy))


def check_alike(program: Program, target: Program) -> None:
    """Raise ``UsageError`` unless two programs differ in their policies alone."""
    ours, theirs = _but_the_policy(program.spec), _but_the_policy(target.spec)
    if ours != theirs:
        fields = [name for name in ours.__struct_fields__ if getattr(ours, name) != getattr(theirs, name)]
        raise UsageError(f"the specs differ in {', '.join(fields)}: only `program` and `policy` may differ")
    if not np.array_equal(program.points, target.points):
        raise UsageError(
            f"the candidates of models {program.bundle.version} and {target.bundle.version} differ: give both specs "
            "the same first model"
        )


def _but_the_policy(spec: ProgramSpec) -> ProgramSpec:
    model = ModelReference("", spec.model.threshold)
    return msgspec.structs.replace(spec, program="any", model=model, policy=Policy(), retention=Retention())


class Answer(NamedTuple):
    """What was published of a step."""

    candidate: int | None
    propensity: float
    policy_version: str


class PolicyEvaluation(NamedTuple):
    """An evaluation, and how many steps were left out: without feasible candidates, never seen, or at the end of the
    log, from the first recourse on that is open still."""

    evaluation: Evaluation
    without_recourse: int
    unseen: int
    unfinished: int

    @property
    def answered(self) -> int:
        """How many steps the log has."""
        return self.evaluation.steps + self.without_recourse + self.unseen + self.unfinished


class _Row(msgspec.Struct):
    candidate: int
    execution: float
    propensity: float
    target: float
    taken: float
    wanted: float
    reward: float | None = None
    open: bool = True


class PolicyEvaluator:
    """Evaluates the policy of ``target`` on the steps of ``program``, which may differ in their policies alone."""

    def __init__(self, program: Program, target: Program) -> None:
        self._program = program
        self._target = target
        self._shards: dict[int, _Shard] = {}

    def step(self, step: Step) -> None:
        """Take the log's next step of its shard."""
        shard = self._shards.get(step.shard)
        if shard is None:
            shard = self._shards[step.shard] = _Shard(self._program, self._target, step.shard)
        shard.step(step)

    def close(self, closing: Closing) -> None:
        """Learn what came of a step."""
        self._shards[closing.shard].close(closing)

    def judged(self) -> PolicyEvaluation:
        """Of all that was told so far."""
        rows: list[_Row] = []
        unfinished = 0
        for _, shard in sorted(self._shards.items()):
            finished = shard.finished()
            rows += finished
            unfinished += len(shard.rows) - len(finished)
        seen = [row for row in rows if row.reward is not None]
        columns = (
            np.array([getattr(row, name) for row in seen], dtype=np.float64)
            for name in ("reward", "propensity", "target", "taken", "wanted")
        )
        without = sum(shard.without_recourse for shard in self._shards.values())
        return PolicyEvaluation(evaluate(Log(*columns)), without, len(rows) - len(seen), unfinished)


class _Shard:
    """``rows`` are its recourses by step."""

    def __init__(self, program: Program, target: Program, number: int) -> None:
        self._program = program
        self._target = target
        self._number = number
        self._follower = Follower(target.learner())
        self._expectation = Expectation(len(program.points))
        self._same_cost = (program.spec.policy.cost, program.nu) == (target.spec.policy.cost, target.nu)
        self.rows: dict[int, _Row] = {}
        self.without_recourse = 0

    def step(self, step: Step) -> None:
        execution = step.execution if self._same_cost else self._execution(step.person, step.feasible)
        wanted = self._follower.step(
            step.person,
            step.feasible,
            execution,
            step.candidate,
            lambda: step_generator(self._target, self._number, step.number, FOLLOWING),
        )
        if step.candidate is None or wanted is None:
            self.without_recourse += 1
            return
        taken_at, wanted_at = step.feasible.searchsorted([step.candidate, wanted]).tolist()
        self.rows[step.number] = _Row(
            step.candidate,
            step.execution.item(taken_at),
            step.propensity,
            float(wanted == step.candidate),
            self._expectation.of(step.candidate, step.execution.item(taken_at)),
            self._expectation.of(wanted, step.execution.item(wanted_at)),
        )

    def close(self, closing: Closing) -> None:
        row = self.rows[closing.number]
        row.open, row.reward = False, closing.reward
        if closing.reward is None:
            self._follower.unseen(closing.number)
            return
        self._expectation.learn(row.candidate, row.execution, closing.reward)
        if closing.censored and self._target.ignores_zero_reward:
            self._follower.passed(closing.number)
        else:
            self._follower.reward(closing.number, closing.reward)

    def finished(self) -> list[_Row]:
        """Up to the first recourse that is open: of later ones the good news would come first."""
        found: list[_Row] = []
        for row in self.rows.values():
            if row.open:
                break
            found.append(row)
        return found

    def _execution(self, person: NDArray[np.float64], feasible: NDArray[np.intp]) -> NDArray[np.float64]:
        target = self._target
        nobody_else = np.zeros(len(feasible), dtype=np.intp)
        cost = target.cost.of_pairs(target.points, person[np.newaxis], feasible, nobody_else)
        return execution_probability(cost, target.nu)

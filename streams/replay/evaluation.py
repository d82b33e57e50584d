"""Another policy, evaluated on the log of a program: what it would have suggested at each step, and what that is worth.

At every step of the log the other policy picks an option. It then learns from the option that the log's policy picked
and from its reward, at the time when the log's policy learned it (``agents/evaluation``).
"""

from __future__ import annotations

from dataclasses import replace
from itertools import takewhile
from typing import NamedTuple

import msgspec
import numpy as np

from ...agents.costs import execution_probability
from ...agents.evaluation import Evaluation, Expectation, Follower, Log, evaluate
from ...agents.options import Options
from ...schemas.spec import ModelReference, Policy, ProgramSpec, Retention
from ..engine.selection import step_generator
from ..errors import UsageError
from ..programs.program import Program, check_artefacts
from ..programs.spec_check import policy_faults
from .journal_replay import Closing, Step

FOLLOWING = (2,)
"""The use of random numbers by the evaluated policy: it must not draw the same as the log's."""


def with_choice(program: Program, choice: str, parameters: dict[str, float]) -> Program:
    """The program with another choice, all else of its policy as it is."""
    policy = msgspec.structs.replace(program.spec.policy, choice=choice, parameters=parameters)
    spec = msgspec.structs.replace(program.spec, policy=policy)
    for _, fault in policy_faults(spec):
        raise UsageError(fault)
    check_artefacts(program.bundle, choice)
    return replace(program, spec=spec)


def without_exploration(program: Program) -> Program:
    """The program without exploration: its choice picks at every step."""
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
    """The published answer of a step: the arm that was picked, None without a recourse."""

    arm: int | None
    propensity: float
    policy_version: str


class PolicyEvaluation(NamedTuple):
    """An evaluation, and the steps that are left out of it.

    Left out are steps without a recourse, steps whose recourse was never seen, and the end of the log from the first
    recourse on that is still open.
    """

    evaluation: Evaluation
    without_recourse: int
    unseen: int
    unfinished: int

    @property
    def answered(self) -> int:
        """The number of steps of the log."""
        return self.evaluation.steps + self.without_recourse + self.unseen + self.unfinished


class _Row(msgspec.Struct):
    """A recourse of the log: the columns of ``Log``, and whether it is still open."""

    arm: int
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
        """Learn the reward of a step."""
        self._shards[closing.shard].close(closing)

    def evaluation(self) -> PolicyEvaluation:
        """The evaluation of the steps and rewards so far."""
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
    """One shard of the log; ``rows`` are its recourses by step."""

    def __init__(self, program: Program, target: Program, number: int) -> None:
        self._program = program
        self._target = target
        self._number = number
        self._follower = Follower(target.learner())
        self._expectation = Expectation(len(program.arms))
        self._same_cost = (program.spec.policy.cost, program.nu) == (target.spec.policy.cost, target.nu)
        self.rows: dict[int, _Row] = {}
        self.without_recourse = 0

    def step(self, step: Step) -> None:
        if len(step.picked) > 1:
            raise UsageError(
                f"step {step.number} of shard {step.shard} has {len(step.picked)} options: logs of one option a "
                "recourse can be evaluated"
            )
        taken, propensity = step.picked[0] if step.picked else (None, 0.0)
        options = step.options if self._same_cost else self._with_target_cost(step.options)
        wanted = self._follower.step(options, taken, lambda: self._random(step.number))
        if taken is None or wanted is None:
            self.without_recourse += 1
            return
        executions = step.options.execution
        taken_at, wanted_at = step.options.arm.searchsorted([taken, wanted]).tolist()
        self.rows[step.number] = _Row(
            taken,
            executions.item(taken_at),
            propensity,
            float(wanted == taken),
            self._expectation.of(taken, executions.item(taken_at)),
            self._expectation.of(wanted, executions.item(wanted_at)),
        )

    def close(self, closing: Closing) -> None:
        row = self.rows[closing.number]
        row.open, row.reward = False, closing.reward
        if closing.reward is None:
            self._follower.retract(closing.number)
            return
        self._expectation.learn(row.arm, row.execution, closing.reward)
        if closing.censored and self._target.ignores_zero_reward:
            self._follower.close(closing.number)
        else:
            self._follower.reward(closing.number, closing.reward)

    def finished(self) -> list[_Row]:
        """The recourses before the first open one: of those after it, rewards are heard of before their absence."""
        return list(takewhile(lambda row: not row.open, self.rows.values()))

    def _random(self, step: int) -> np.random.Generator:
        return step_generator(self._target, self._number, step, FOLLOWING)

    def _with_target_cost(self, options: Options) -> Options:
        """The options with the execution probabilities that the target's cost gives."""
        target, whose = self._target, np.zeros(len(options), dtype=np.intp)
        cost = target.cost.of_pairs(options.points, options.person[np.newaxis], options.point, whose)
        execution = execution_probability(cost, target.nu)
        return Options(options.person, options.arm, options.points, options.point, execution)

"""Another policy, evaluated on the log of a program: what it would have suggested at each step, and what that is worth.

At every step of the log the other policy picks options. It then learns from the options that the log's policy picked
and from their reward, at the time when the log's policy learned it (``agents/evaluation``).
"""

from __future__ import annotations

from collections import deque
from dataclasses import replace
from itertools import takewhile
from typing import Literal, NamedTuple

import msgspec
import numpy as np

from ...agents import choices
from ...agents.choices import Seen
from ...agents.evaluation import Evaluation, Expectation, Follower, Log, evaluate
from ...agents.options import Options
from ...schemas.spec import ModelReference, Policy, ProgramSpec, Retention
from ..engine.selection import step_generator
from ..errors import UsageError
from ..programs.model_fit import ModelFacts, lacks_for_choice
from ..programs.program import Program
from ..programs.spec_check import completed, policy_faults
from .journal_replay import ReplayedFate, ReplayedStep

FOLLOWING = (2,)
"""The use of random numbers by the evaluated policy: it must not draw the same as the log's."""

MAKES_OPTIONS = ("generator", "goal", "goal_parameters")
"""The fields of a policy that decide which options people have, and which arms there are."""


def with_choice(program: Program, choice: str, parameters: dict[str, float]) -> Program:
    """The program with another choice, all else of its policy as it is.

    Parameters that are not given are those of a spec that names this choice; of the program's own choice, the
    program's.
    """
    policy = program.spec.policy
    if choice == policy.choice:
        parameters = {**policy.parameters, **parameters}
    spec = msgspec.structs.replace(
        program.spec, policy=msgspec.structs.replace(policy, choice=choice, parameters=parameters)
    )
    for _, fault in policy_faults(spec):
        raise UsageError(fault)
    spec = completed(spec)
    if lacking := lacks_for_choice(ModelFacts.from_bundle(program.bundle), choice):
        raise UsageError(lacking)
    return replace(program, spec=spec)


def without_exploration(program: Program) -> Program:
    """The program without exploration: its choice picks at every step."""
    policy = msgspec.structs.replace(program.spec.policy, exploration=0.0)
    return replace(program, spec=msgspec.structs.replace(program.spec, policy=policy))


def with_arms_of(program: Program, target: Program) -> Program:
    """The target with the arms of a program, whose specs may have changed: its log names them by their numbers."""
    return replace(target, earlier=program.earlier, earlier_arms=program.earlier_arms)


def check_alike(program: Program, target: Program) -> None:
    """Raise ``UsageError`` unless two programs differ in their policies alone."""
    ours, theirs = _but_the_policy(program.spec), _but_the_policy(target.spec)
    if ours != theirs:
        fields = [name for name in ours.__struct_fields__ if getattr(ours, name) != getattr(theirs, name)]
        raise UsageError(f"the specs differ in {', '.join(fields)}: only `program` and `policy` may differ")
    _check_options_alike(program.spec.policy, target.spec.policy)
    if not np.array_equal(program.points, target.points):
        raise UsageError(
            f"the candidates of models {program.bundle.version} and {target.bundle.version} differ: give both specs "
            "the same first model"
        )


def _check_options_alike(policy: Policy, target: Policy) -> None:
    """Raise ``UsageError`` where a policy would have made other options than those of the log."""
    fields = [name for name in MAKES_OPTIONS if getattr(policy, name) != getattr(target, name)]
    if fields:
        raise UsageError(
            f"the specs differ in {', '.join(f'policy.{name}' for name in fields)}: the log has no options of "
            "another generator or goal, give both specs the same"
        )


def _but_the_policy(spec: ProgramSpec) -> ProgramSpec:
    model = ModelReference("", spec.model.threshold)
    return msgspec.structs.replace(spec, program="any", model=model, policy=Policy(), retention=Retention())


class PublishedStep(NamedTuple):
    """The published answer of a step: arm and propensity of each option, none without a recourse."""

    options: tuple[tuple[int, float], ...]
    policy_version: str


class PolicyEvaluation(NamedTuple):
    """An evaluation, and the steps that are left out of it, beside those that it leaves out itself.

    Left out are steps without a recourse, steps whose recourse was never seen, steps of several options whose outcome
    names none of them, and the end of the log from the first recourse on that is still open. ``earlier`` counts the
    recourses that ended here and were suggested before the log begins: they are no steps of it. Of ``silent`` steps
    nothing was heard until their window closed: the reward that is estimated is 0 there.
    """

    evaluation: Evaluation
    without_recourse: int
    unseen: int
    unnamed: int
    unfinished: int
    earlier: int = 0
    silent: int = 0

    @property
    def answered(self) -> int:
        """The number of steps of the log."""
        known = self.evaluation.steps + self.evaluation.unexplored
        return known + self.without_recourse + self.unseen + self.unnamed + self.unfinished


class _Taken(NamedTuple):
    """An option of the log: its expected reward when it was suggested, and whether the evaluated policy wants it."""

    arm: int
    execution: float
    propensity: float
    expected: float
    wanted: bool


class _Row(msgspec.Struct):
    """A recourse of the log: its options, and the number and expected reward of those that the target wants.

    ``unsupported``, ``explored`` and ``fixed`` are those of ``Log``.

    ``rewards`` are those of the options by arm, once they are known. ``end`` is None while the recourse is open.
    """

    taken: tuple[_Taken, ...]
    size: int
    wanted: float
    unsupported: bool
    explored: bool
    fixed: bool
    rewards: dict[int, float] = {}
    end: Literal["rewarded", "unseen", "unnamed"] | None = None
    silent: bool = False

    def columns(self) -> tuple[float, ...]:
        """The columns of ``Log``."""
        both = [option for option in self.taken if option.wanted]
        return (
            sum(self.rewards.values()),
            sum(1.0 / option.propensity for option in both),
            sum(self.rewards.get(option.arm, 0.0) / option.propensity for option in both),
            sum(option.expected / option.propensity for option in both),
            self.wanted,
            self.size,
            self.unsupported,
            self.explored,
            self.fixed,
        )


class PolicyEvaluator:
    """Evaluates the policy of ``target`` on the steps of ``program``, which may differ in their policies alone."""

    def __init__(self, program: Program, target: Program) -> None:
        self._program = program
        self._target = target
        self._shards: dict[int, _Shard] = {}
        self._earlier = 0

    def step(self, step: ReplayedStep) -> tuple[int, ...]:
        """Take the log's next step of its shard; return the arms that the evaluated policy picks, best first."""
        shard = self._shards.get(step.shard)
        if shard is None:
            shard = self._shards[step.shard] = _Shard(self._program, self._target, step.shard, step.number)
        return shard.step(step)

    def close(self, closing: ReplayedFate) -> None:
        """Learn the reward of a step; one that was taken before the log begins taught nobody here."""
        shard = self._shards.get(closing.shard)
        if shard is None or closing.number < shard.first:
            self._earlier += 1
        else:
            shard.close(closing)

    def evaluation(self) -> PolicyEvaluation:
        """The evaluation of the steps and rewards so far."""
        rows: list[_Row] = []
        unfinished = 0
        for _, shard in sorted(self._shards.items()):
            finished = shard.finished()
            rows += finished
            unfinished += len(shard.rows) - len(finished)
        known = [row.columns() for row in rows if row.end == "rewarded"]
        columns = np.array(known, dtype=np.float64).reshape(len(known), len(Log._fields)).T
        log = Log(*columns[:-3], *(column > 0.0 for column in columns[-3:]))
        without = sum(shard.without_recourse for shard in self._shards.values())
        unseen, unnamed = (sum(row.end == end for row in rows) for end in ("unseen", "unnamed"))
        found = evaluate(log)
        silent = sum(row.end == "rewarded" and row.silent and not (found.unexplored and row.fixed) for row in rows)
        return PolicyEvaluation(found, without, unseen, unnamed, unfinished, self._earlier, silent)


class _Shard:
    """One shard of the log, from its step ``first`` on; ``rows`` are its recourses by step."""

    def __init__(self, program: Program, target: Program, number: int, first: int) -> None:
        self._program = program
        self._target = target
        self._number = number
        self.first = first
        policy = target.spec.policy
        self._follower = Follower(target.learner(), policy.options, second_way=policy.second_way)
        self._expectation = Expectation(len(program.arms))
        # Rounds learn how probably options succeed, whatever a policy makes of costs.
        same_cost = (program.spec.policy.cost, program.nu) == (target.spec.policy.cost, target.nu)
        same_objective = program.spec.policy.objective == target.spec.policy.objective
        self._same_execution = same_objective and (program.closes_rounds or same_cost)
        self.rows: dict[int, _Row] = {}
        self._unlearned: deque[_Row] = deque()
        self.without_recourse = 0

    def step(self, step: ReplayedStep) -> tuple[int, ...]:
        options = step.options if self._same_execution else self._with_target_cost(step.options)
        arms = [arm for arm, _ in step.picked]
        wanted = self._follower.step(options, arms, lambda: self._random(step.number))
        if not step.picked or not wanted:
            self.without_recourse += 1
            return wanted
        taken = tuple(self._taken(step, arm, propensity, arm in wanted) for arm, propensity in step.picked)
        # Without exploration the log's policy never suggests another option.
        certain = all(option.propensity >= 1.0 for option in taken)
        fixed = certain and not set(options.arm.tolist()) <= set(arms)
        expected = sum(self._expectation.expected_reward(arm, _execution(step.options, arm)) for arm in wanted)
        row = _Row(taken, len(wanted), expected, certain and not set(wanted) <= set(arms), not certain, fixed)
        self.rows[step.number] = row
        self._unlearned.append(row)
        return wanted

    def close(self, closing: ReplayedFate) -> None:
        row, reward, step = self.rows[closing.number], closing.reward, closing.number - self.first
        self._close(row, closing, reward, step)
        # Of steps after the first open one successes are known before failures: nothing is expected by them.
        while self._unlearned and self._unlearned[0].end is not None:
            self._expect(self._unlearned.popleft())

    def _expect(self, row: _Row) -> None:
        """Learn what to expect of the options of a recourse that ended."""
        if row.end == "rewarded":
            for option in row.taken:
                self._expectation.learn(option.arm, option.execution, row.rewards.get(option.arm, 0.0))

    def _close(self, row: _Row, closing: ReplayedFate, reward: float | None, step: int) -> None:
        several = len(row.taken) > 1
        if reward is None or (reward and several and closing.arm is None):
            row.end = "unseen" if reward is None else "unnamed"
            if reward is None or not self._target.learns_by_stages:
                self._follower.reward(step, {})
            else:
                self._follower.learn(step, self._seen(closing), None)
            return
        row.end, row.silent = "rewarded", closing.censored
        credited = [option for option in row.taken if closing.arm in (None, option.arm)]
        row.rewards = {option.arm: reward for option in credited}
        choice = choices.registry[self._target.spec.policy.choice]
        if choice.by_stages:
            self._follower.learn(step, self._seen(closing), closing.arm)
        elif closing.censored and choice.ignores_zero_reward and not several:
            self._follower.close(step)
        elif len(credited) > 1:
            easiest = max(credited, key=lambda option: option.execution)
            self._follower.reward(step, {easiest.arm: reward})
        else:
            self._follower.reward(step, row.rewards)

    def _seen(self, closing: ReplayedFate) -> Seen:
        """What a choice by stages learns of a fate; a closed window says nothing of whether an option helps."""
        helped = None if closing.censored or closing.acted is False else bool(closing.reward)
        return Seen(closing.acted, helped, self._program.silence_is_inaction)

    def _taken(self, step: ReplayedStep, arm: int, propensity: float, wanted: bool) -> _Taken:
        execution = _execution(step.options, arm)
        return _Taken(arm, execution, propensity, self._expectation.expected_reward(arm, execution), wanted)

    def finished(self) -> list[_Row]:
        """The recourses before the first open one: of those after it, rewards are heard of before their absence."""
        return list(takewhile(lambda row: row.end is not None, self.rows.values()))

    def _random(self, step: int) -> np.random.Generator:
        return step_generator(self._target, self._number, step, FOLLOWING)

    def _with_target_cost(self, options: Options) -> Options:
        """The options with the execution probabilities that the target's cost gives."""
        target, owner = self._target, np.zeros(options.number, dtype=np.intp)
        objective, feature_of = target.objective_under(target.bundle), target.codec.feature_of
        person, arm, points, point, *_ = options
        return objective.options(person[np.newaxis], owner, arm, points, point, feature_of).options_of(0)


def _execution(options: Options, arm: int) -> float:
    return options.execution.item(int(options.arm.searchsorted(arm)))

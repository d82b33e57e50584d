"""The version of a program's policy: what recourses are compared by, to evaluate another one."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping

import msgspec

from ...agents import candidates, choices, goals
from ...agents.parameters import Parametrised
from ...schemas.spec import LABEL_PRIOR, ProgramSpec
from ..durations import milliseconds
from .limited_places import closes_rounds
from .promised import has_promise

POLICY_VERSION_CHARACTERS = 16
INTERVIEW_REVISION = 2
"""Counted up when the same person is asked something else after the same answers."""
PAPERS = [("instances", "threshold", "none", 1, margin) for margin in (None, 0.0)]


def policy_version(spec: ProgramSpec, nu: float, first_model: str, instances: int) -> str:
    """A hash of everything that decides how a program picks, except what it has learned.

    That is the choice, its revision and parameters, the rest of the policy, and the first model, by the hash of its
    manifest, with the number of its instances.
    """
    policy, time = spec.policy, spec.policy.window.time
    choice = choices.registry[policy.choice]
    parameters = {name: parameter.default for name, parameter in choice.parameters().items()} | policy.parameters
    facts = (
        policy.choice,
        choice.revision,
        parameters,
        (policy.window.steps, None if time is None else milliseconds(time)),
        (policy.cost, nu),
        (policy.exploration, policy.seed),
        (first_model, instances),
        *_beyond_the_defaults(spec),
        *_of_improvement(spec),
        *_of_vetting(spec),
        *_of_second_way(spec),
        *_of_stages(spec),
        *_of_consequences(spec),
        *_of_label(spec),
        *_of_samples(spec),
        *_of_goal(spec),
        *(() if spec.elicitation is None else (spec.elicitation, INTERVIEW_REVISION)),
    )
    content = msgspec.json.encode(facts, order="deterministic")
    return hashlib.sha256(content).hexdigest()[:POLICY_VERSION_CHARACTERS]


def _beyond_the_defaults(spec: ProgramSpec) -> tuple[object, ...]:
    """The methods that a spec names beside its choice. The paper's policy has a hash without them."""
    policy = spec.policy
    named = (policy.generator, policy.goal, spec.promise.kind, policy.options, policy.margin)
    if has_promise(spec):
        return ((*named, spec.promise),)
    if policy.target is not None:
        return ((*named, policy.target),)
    return () if named in PAPERS else (named,)


def _of_improvement(spec: ProgramSpec) -> tuple[object, ...]:
    """The aim of options, where that is not to be easy."""
    policy = spec.policy
    if policy.objective == "cost":
        given = _other_than_default(candidates.registry[policy.generator], policy.generator_parameters)
        return ({"generator_parameters": given},) if given else ()
    other = (policy.improvement,) if policy.improvement != LABEL_PRIOR else ()
    return policy.objective, policy.generator_parameters, *other


def _of_vetting(spec: ProgramSpec) -> tuple[object, ...]:
    """What must be true of an option before a person is told of it, where the spec asks for more than a score."""
    policy = spec.policy
    given: dict[str, object] = {"least_help": policy.least_help, "least_gain": policy.least_gain}
    given["overshoot"] = policy.overshoot
    given |= {} if policy.lasting is None else {"lasting": policy.lasting}
    if policy.least_help_of == "lower_end":
        given |= {"least_help_of": policy.least_help_of, "improvement_interval": policy.improvement_interval}
    return () if set(given.values()) == {None} else (given,)


def _of_stages(spec: ProgramSpec) -> tuple[object, ...]:
    """The window in stages, where the spec has one or says how people who act are seen."""
    window = spec.policy.window
    times = [None if time is None else milliseconds(time) for time in (window.acted, window.outcome)]
    return ((*times, window.acting),) if any(times) or window.acting is not None else ()


def _of_consequences(spec: ProgramSpec) -> tuple[object, ...]:
    """What follows from changes, where something does."""
    return ({"effects": spec.effects, "computed": spec.computed},) if spec.effects or spec.computed else ()


def _of_label(spec: ProgramSpec) -> tuple[object, ...]:
    """That rows without a label are read, where they are: the learner then expects labels to say less."""
    return ((spec.label.missing,),) if spec.label.are_selected else ()


def _of_second_way(spec: ProgramSpec) -> tuple[object, ...]:
    """Which option the last place is kept for, where it is for a certain one."""
    return ({"second_way": True},) if spec.policy.second_way else ()


def _of_samples(spec: ProgramSpec) -> tuple[object, ...]:
    """The parameters of the costs of options where these are sampled."""
    policy = spec.policy
    given = policy.cost_parameters, policy.samples
    return ({"cost_parameters": given[0], "samples": given[1]},) if any(given) else ()


def _of_goal(spec: ProgramSpec) -> tuple[object, ...]:
    """The parameters of how a program with rounds picks, beside its policy; of others the parameters of their goal."""
    policy, rounds = spec.policy, closes_rounds(spec)
    goal = goals.round_registry[policy.goal] if rounds else goals.registry[policy.goal]
    given = _other_than_default(goal, policy.goal_parameters)
    if rounds:
        return spec.capacity, given
    return ({"goal_parameters": given},) if given else ()


def _other_than_default(method: type[Parametrised], parameters: Mapping[str, float]) -> dict[str, float]:
    defaults = {name: known.default for name, known in method.parameters().items()}
    return {name: value for name, value in parameters.items() if value != defaults.get(name)}

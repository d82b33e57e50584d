"""Methods of a spec that do not go together, and those that go together badly.

What a method needs and can do is declared with it, so no pair of names stands here: a generator declares whether it
works under any score, and whether it aims at the score that is required; a promise, whether it has a score of its own.
"""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import to_builtins

from ...agents import candidates, choices, promises
from ...schemas.feature_rules import Violation
from ...schemas.spec import ProgramSpec
from .limited_places import closes_rounds
from .promised import has_own_score, has_promise


def composition_faults(spec: ProgramSpec) -> Iterator[Violation]:
    """Methods that cannot work together, as far as they are known."""
    policy, terms = spec.policy, spec.promise
    yield from _without_consequences(spec)
    yield from _without_interval(spec)
    if terms.kind not in promises.registry:
        return
    if has_promise(spec) and closes_rounds(spec):
        yield ("promise", "kind"), f"{policy.goal} promises a score in rounds: take `promise` out"
    if policy.lasting is not None and closes_rounds(spec):
        yield (
            ("policy", "lasting"),
            f"{policy.goal} asks for a score in rounds, which no other model knows: take it out",
        )
    if not has_own_score(terms):
        return
    if policy.lasting is not None:
        yield (
            ("policy", "lasting"),
            f"the promise {terms.kind} says which models accept an option: take one of them out",
        )
    for name in ("margin", "target"):
        if getattr(policy, name) is not None:
            yield ("policy", name), "the promise says which score options must reach: give `promise: margin` instead"
    generator = candidates.registry.get(policy.generator)
    if generator and generator.needs_linear_score:
        yield ("policy", "generator"), f"{generator.name} cannot keep the promise {terms.kind}: use `search`"


def _without_consequences(spec: ProgramSpec) -> Iterator[Violation]:
    """Methods that hold all else still, in a spec where something follows from changes."""
    if not (spec.effects or spec.computed):
        return
    path = "effects" if spec.effects else "computed"
    generator = candidates.registry.get(spec.policy.generator)
    if generator and not generator.knows_consequences:
        yield ("policy", "generator"), f"{generator.name} does not know what follows by `{path}`: use `search`"
    if closes_rounds(spec):
        yield (
            ("policy", "goal"),
            f"{spec.policy.goal} holds all else still, and something follows by `{path}`: take one of them out",
        )
    if spec.elicitation is not None:
        yield (
            ("elicitation",),
            f"questions hold all else still, and something follows by `{path}`: take one of them out",
        )


def _without_interval(spec: ProgramSpec) -> Iterator[Violation]:
    """What is asked of intervals that no option has."""
    policy = spec.policy
    if policy.least_help_of != "lower_end":
        return
    for name in ("improvement_interval", "least_help"):
        if getattr(policy, name) is None:
            yield ("policy", "least_help_of"), f"`lower_end` needs `{name}`, which the spec does not give"


def cautions(spec: ProgramSpec) -> Iterator[str]:
    """Settings that may leave most people without an option, nobody the right to be forgotten, or shards without what
    others know: a line each."""
    yield from _apart(spec)
    if choices.registry[spec.policy.choice].variable_length:
        yield (
            f"choice `{spec.policy.choice}` keeps rows of people, so nobody can be erased: an event of `erasures` is "
            "a dead letter"
        )
    generator = candidates.registry[spec.policy.generator]
    if generator.aims_at_goal:
        return
    for asked in _more_than_the_threshold(spec):
        yield (
            f"generator `{generator.name}` proposes rows of the data as they are, and {asked}: who finds no row that "
            "scores so high gets no option; `generator: search` looks for changes that do"
        )


def _apart(spec: ProgramSpec) -> Iterator[str]:
    """What the shards of a program do not know of each other."""
    choice = choices.registry[spec.policy.choice]
    if spec.shards > 1 and choice.learns and not choice.additive:
        yield (
            f"`shards: {spec.shards}`: learners of choice `{choice.name}` tell each other nothing of outcomes, and "
            "each has only those of its shard; `shards: 1`, or `choice: residual`"
        )
    if spec.shards > 1 and has_promise(spec):
        yield (
            f"`shards: {spec.shards}`: who comes back under another name of an application is often in another shard, "
            "which knows nothing of their promise; `shards: 1`"
        )


def needs_applicants(spec: ProgramSpec) -> Iterator[str]:
    """That people must be known again, for a program that promises them something; nothing for any other."""
    if has_promise(spec) or closes_rounds(spec):
        yield (
            "applications need an `applicant`: a promise is kept to who got it, and nobody is known by `previous` alone"
        )


def window_questions(spec: ProgramSpec) -> Iterator[str]:
    """What people must know of their outcomes: how long they take, and how those are seen who act."""
    window, choice = spec.policy.window, choices.registry[spec.policy.choice]
    if not choice.learns:
        return
    limit = f"{window.steps} steps" if window.length is None else str(to_builtins(window.length))
    asked = f"policy.window: how long do outcomes take? Those that come later than {limit} teach nothing"
    if not choice.by_stages:
        yield f"{asked}, and silence until then counts as a failure; with `choice: stages` it does not"
        return
    yield asked
    if window.acting is None:
        yield (
            "policy.window.acting: how are people seen who act? Where they come back say `returns`, where events "
            "`acted` come, `reports`. Without it, outcomes that are reported only of those who acted make acting look "
            "more probable than it is: send them with `acted: true`"
        )
    if window.acting == "returns":
        yield (
            "policy.window.acting: applications of people who come back need `applicant` and `previous`: of whom "
            "neither is seen, it is learned that they did not act"
        )


def _more_than_the_threshold(spec: ProgramSpec) -> Iterator[str]:
    """The settings that ask for a higher score than the threshold of the model."""
    policy, threshold = spec.policy, spec.model.threshold
    if closes_rounds(spec):
        yield f"`goal: {policy.goal}` asks for a score that wins a place"
    if has_own_score(spec.promise):
        yield f"`promise: {{kind: {spec.promise.kind}}}` asks for a score that other models accept too"
    if policy.margin == "auto" or (isinstance(policy.margin, float) and policy.margin > 0.0):
        yield f"`margin: {policy.margin}` asks for more than the threshold"
    if policy.target is not None and policy.target > threshold:
        yield f"`target: {policy.target:g}` asks for more than the threshold"

"""XPEAR: plans of an automaton that was distilled from PEAR's, and how they compare with these (appendix D)."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from typing import NamedTuple

import numpy as np

from onward.agents.candidates.components.plan_search import Plans
from onward.benchmarks.elicitation.baselines.moves import Indices
from onward.benchmarks.elicitation.interviews import RULES, Belief, Subject, dialogue, mean
from onward.benchmarks.elicitation.planner import Person
from onward.benchmarks.elicitation.rules import START, Automaton, Example, Operation, Rule, Walk, operations_of
from onward.benchmarks.elicitation.study import MOST_STEPS, Action, Array, Study, Users
from onward.benchmarks.elicitation.study import Row as User
from onward.benchmarks.elicitation.tables import UNITS, Stored, better
from onward.benchmarks.face import Row, progress

DRAWS = 6
"""Of weights for each user whose plans are learned from."""
SAMPLES = 8
"""Of what the weights of a user may be."""
DEARER = 1.05
"""What plans by rules may cost, as a multiple of PEAR's for the same users."""
SHOWN = 3
"""Users of a set whose rules are printed."""


class Explained(NamedTuple):
    """A plan by rules: whether it is accepted, its cost under the user's weights, its length with the stop."""

    valid: bool
    cost: float
    length: int
    rules: tuple[Rule, ...]


NONE = Explained(False, float("nan"), 0, ())


def examples(study: Study, users: Sequence[User], random: np.random.Generator) -> list[Example]:
    """The cheapest plans of users under weights that are drawn from the prior, as many of each kind of people."""
    found, means = [], study.prior.means
    for row in users:
        weights = means[np.arange(DRAWS) % len(means)] + random.standard_normal((DRAWS, means.shape[1]))
        person = Person(study, row)
        plans = person.cheapest(weights)
        if len(plans.costs):
            for own, best in zip(weights, plans.costs.argmin(axis=0), strict=True):
                found.append(Example(row, own, operations_of(person, plans.levels[best], plans.order[best])))
    return found


def by_automaton(automaton: Automaton, study: Study, row: User, believed: Array, own: Array) -> Explained:
    """What the automaton says: amounts are the least that the classifier accepts, else the largest.

    ``believed`` (S, P) are samples of what the user's weights may be, ``own`` (P,) the true ones. As in the
    authors' program the automaton is asked after each operation that may come first; the plan that is believed to cost
    least is told.
    """
    start, plans = Walk(study, row, believed), list[tuple[float, int, Indices, list[Rule]]]()
    for first in automaton.ranked(START, start.situation):
        taken, rules = _walked(automaton, Walk(study, row, believed), first)
        expected = start.moves.outcome(taken, believed)
        if expected.valid:
            plans.append((expected.cost, len(plans), taken, rules))
    if not plans:
        return NONE
    *_, taken, rules = min(plans)
    outcome = start.moves.outcome(taken, own)
    return Explained(outcome.valid, outcome.cost, outcome.length, tuple(rules))


def _walked(automaton: Automaton, walk: Walk, first: Operation | None) -> tuple[Indices, list[Rule]]:
    """The actions of the automaton from an operation on, until the classifier accepts, and their rules."""
    taken, rules, node, wanted = list[int](), list[Rule](), START, [first]
    while len(taken) < MOST_STEPS and not walk.is_accepted:
        operation = _next(walk, wanted, ())
        if operation is None:
            break
        rules.append(automaton.rule(node, walk.situation, operation))
        taken.append(walk.least_sufficient(walk.actions(operation)))
        walk.take(taken[-1])
        node = operation.feature
        wanted = automaton.ranked(node, walk.situation)
    return np.array(taken, np.intp), rules


def with_amounts(automaton: Automaton, study: Study, row: User, believed: Array, own: Array) -> Explained:
    """The automaton says which operations, the planner by how much and in which order.

    Again one plan is sought for each operation that may come first, and the one that is believed to cost least is told.
    """
    start = Walk(study, row, believed)
    plans = [
        planned
        for first in automaton.ranked(START, start.situation)
        if (planned := _planned(automaton, study, row, believed, first)) is not None
    ]
    if not plans:
        return NONE
    best = min(plans, key=lambda planned: planned.expected)
    cost = float(best.person.costs(best.plans).totals(own[np.newaxis])[best.plan, 0])
    return Explained(True, cost, best.length, best.rules)


class Planned(NamedTuple):
    """The plan number ``plan`` of some, what it is expected to cost, its length, and the rules that name its steps."""

    expected: float
    person: Person
    plans: Plans
    plan: int
    length: int
    rules: tuple[Rule, ...]


def _planned(automaton: Automaton, study: Study, row: User, believed: Array, first: Operation | None) -> Planned | None:
    """The cheapest plan of the operations that the automaton names after the first one.

    They are planned as soon as the classifier accepts all of them with the largest amounts. More are added until the
    automaton stops.
    """
    walk, node, rules, best = Walk(study, row, believed), START, list[Rule](), None
    wanted = [first]
    while len(rules) < MOST_STEPS and (best is None or wanted[0] is not None):
        operation = _next(walk, wanted, {rule.operation for rule in rules})
        if operation is None:
            break
        rules.append(automaton.rule(node, walk.situation, operation))
        walk.take(int(walk.actions(operation)[-1]))
        node = operation.feature
        wanted = automaton.ranked(node, walk.situation)
        if walk.is_accepted or len(rules) == MOST_STEPS:
            found = _cheapest(study, row, believed, rules)
            best = found if best is None or (found is not None and found.expected < best.expected) else best
    return best


def _cheapest(study: Study, row: User, believed: Array, rules: Sequence[Rule]) -> Planned | None:
    """The cheapest plan of the operations of some rules, if there is one."""
    person = Person(study, row, actions_of(study, [rule.operation for rule in rules]))
    plans = person.cheapest(believed)
    if not len(plans.costs):
        return None
    expected = plans.costs.mean(axis=1)
    plan = int(expected.argmin())
    taken = operations_of(person, plans.levels[plan], plans.order[plan])
    kept = tuple(rule for rule in rules if rule.operation in taken)
    return Planned(float(expected[plan]), person, plans, plan, len(taken) + 1, kept)


def _next(walk: Walk, wanted: Sequence[Operation | None], done: Collection[Operation]) -> Operation | None:
    """The first of some operations that is open and not done."""
    for operation in wanted:
        if operation is not None and operation not in done and len(walk.actions(operation)):
            return operation
    return None


def actions_of(study: Study, operations: Sequence[Operation]) -> list[Action]:
    """The paper's actions without those that no operation names."""
    found = []
    for action in study.actions:
        own = [operation for operation in operations if operation.feature == action.feature]
        signs = {operation.direction for operation in own}
        if own:
            categories = tuple(operation.category for operation in own if operation.category is not None)
            rises, falls = action.rises[: None if 1 in signs else 0], action.falls[: None if -1 in signs else 0]
            found.append(action._replace(categories=categories, rises=rises, falls=falls))
    return found


def appendix_d(stored: Stored) -> Iterator[Row]:
    """Plans by rules for the first users of each set after ten questions, with PEAR's for the same users beside.

    Rules are learned from plans of the other stored users. The paper's figures are in an appendix that is not at hand.
    """
    study = stored.study
    told = {tuple(row.values()) for name in stored.sets for row in stored.few(name).rows}
    others = [row for people in stored.sets.values() for row in people.rows if tuple(row.values()) not in told]
    progress(f"{study.name}: rules from plans of {len(others)} users")
    if not others:
        return
    automaton = Automaton(study, examples(study, others, np.random.default_rng(stored.seed)))
    for name in stored.sets:
        few = stored.few(name)
        progress(f"{study.name}: plans by rules, {len(few)} users, {name}")
        yield from _rows(stored, name, few, automaton)


def _rows(stored: Stored, users: str, few: Users, automaton: Automaton) -> Iterator[Row]:
    study, crowd = stored.study, stored.crowd(users)[: len(few)]
    believed = [_believed(subject, stored.belief, stored.seed) for subject in crowd]
    pear = stored.results(users, "NL", 2)
    for name, planner in {"XPEAR": by_automaton, "XPEAR, planned amounts": with_amounts}.items():
        plans = [
            planner(automaton, study, row, weights, own)
            for row, weights, own in zip(few.rows, believed, few.weights, strict=True)
        ]
        valid = np.array([plan.valid for plan in plans])
        measured = {
            "validity": (float(valid.mean()), float(pear.valid[: len(few)].mean())),
            "cost": (mean(np.array([p.cost for p in plans])[valid]), mean(pear.costs[: len(few), -1][valid])),
            "length": (mean(np.array([p.length for p in plans])[valid]), mean(pear.length[: len(few)][valid])),
        }
        for measure, (value, beside) in measured.items():
            aim = DEARER * beside if measure == "cost" else None
            title = f"appendix D, {measure} {study.name} {users} {name}"
            yield Row(title, value, UNITS[measure], beside, aim, better=better(measure))
        rules = [rule for plan in plans for rule in plan.rules]
        title = f"appendix D, conditions of a rule {study.name} {users} {name}"
        yield Row(title, mean(np.array([float(len(rule.conditions)) for rule in rules])), "conditions", better="lower")
        title = f"appendix D, steps that agree with a rule {study.name} {users} {name}"
        yield Row(title, mean(np.array([rule.share for rule in rules])), "share")
        for user, plan in enumerate(plans[:SHOWN]):
            progress(f"{study.name}, {name}, user {user} of {users}: {'; then '.join(map(str, plan.rules))}")


def _believed(subject: Subject, belief: Belief, seed: int) -> Array:
    """Samples (S, P) of what the weights of a user may be after ten answers without noise."""
    talk = dialogue(subject, belief, "NL", RULES, seed)
    random = np.random.default_rng([seed, subject.number])
    drawn = random.choice(len(talk.probability), SAMPLES, p=talk.probability / talk.probability.sum())
    return np.asarray(talk.weights[drawn])

"""The contract of candidate generators as laws."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import numpy as np

from ...agents.arrays import Array
from ...agents.candidates import CandidateGenerator, Proposals
from ..laws import Contract, name_of, refuses, require
from . import many, small
from .many import Counted
from .small import COLUMNS, GOAL, PEOPLE, broken_rule, keeps_together, options_of, score_of

GENERATOR: Contract[type[CandidateGenerator]] = Contract()
"""The laws of every candidate generator."""

INSTANCES = (0, 1, 3, 12, 40)
MOST_ROWS = 14_000 + 24 * (many.MANY + 1)
"""The most rows that a generator scores for a person of as many features (docs/options.md)."""


def check_generator(kind: type[CandidateGenerator], *, seeds: Iterable[int] | None = None) -> None:
    """Check every law of candidate generators; raise ``ContractError`` at the first that is broken.

    ``seeds`` are those of every law, by default as many as it needs.
    """
    GENERATOR.hold(name_of(kind, CandidateGenerator), kind, seeds)


@GENERATOR.law(draws=15)
def targets_keep_the_rules(kind: type[CandidateGenerator], seed: int) -> None:
    """Every target reaches the goal and keeps the rules of its features and the constraints across features."""
    generator, space, people = small.drawn(kind, seed, INSTANCES[seed % 5])
    proposals = generator.propose(people)
    scores = score_of(kind, seed)(proposals.targets)
    for owner, target, score in zip(proposals.people.tolist(), proposals.targets, scores.tolist(), strict=True):
        person = people[owner]
        change = f"{person.tolist()} may become {target.tolist()}"
        require(score > GOAL.required, f"{change}, whose score {score} does not exceed {GOAL.required}")
        require(keeps_together(target[np.newaxis]).all(), f"{change}, which `space.allowed` forbids")
        broken = broken_rule(space, person, target)
        require(broken is None, f"{change}: {broken}")


@GENERATOR.law(draws=15)
def proposals_are_by_person_and_then_by_arm(kind: type[CandidateGenerator], seed: int) -> None:
    """Options are in the order of people, then of arms, each arm once; arms and targets have the encoded columns."""
    generator, _, people = small.drawn(kind, seed, INSTANCES[seed % 5])
    proposals = generator.propose(people)
    keys = list(zip(proposals.people.tolist(), proposals.arm.tolist(), strict=True))
    require(keys == sorted(set(keys)), f"people and arms are {keys}: `Proposals.ordered` sorts them")
    arms = len(generator.arms)
    require(all(0 <= arm < arms for _, arm in keys), f"the {arms} arms are numbered {sorted({arm for _, arm in keys})}")
    shapes = generator.arms.shape, proposals.points.shape
    require(shapes[0][1] == shapes[1][1] == COLUMNS, f"arms and points have the shapes {shapes} for {COLUMNS} columns")


@GENERATOR.law(draws=15)
def options_depend_on_no_one_else(kind: type[CandidateGenerator], seed: int) -> None:
    """A person's options are the same, to the last bit, alone and in any batch, and with another such generator."""
    generator, _, people = small.drawn(kind, seed, INSTANCES[seed % 5])
    again, _, _ = small.drawn(kind, seed, INSTANCES[seed % 5])
    batch, backward = generator.propose(people), again.propose(np.ascontiguousarray(people[::-1]))
    for i in range(PEOPLE):
        alone, together = options_of(generator.propose(people[i : i + 1]), 0), options_of(batch, i)
        require(
            together == alone,
            f"person {i} has {in_words(together)} in a batch of {PEOPLE}, and {in_words(alone)} alone",
        )
        other = options_of(backward, PEOPLE - 1 - i)
        require(
            together == other, f"person {i} has {in_words(together)}, and {in_words(other)} in the batch turned round"
        )


@GENERATOR.law(draws=15)
def explains_exactly_those_without_options(kind: type[CandidateGenerator], seed: int) -> None:
    """``explain`` has a reason for who has no option, and raises ``ValueError`` for who has one."""
    generator, _, people = small.drawn(kind, seed, INSTANCES[seed % 5])
    with_options = set(generator.propose(people).people.tolist())
    for i, person in enumerate(people):
        if i not in with_options:
            require(generator.explain(person).reason, f"person {i} has no option, and the reason is empty")
            continue
        with refuses(f"person {i}, who has an option, in `explain`"):
            generator.explain(person)


@GENERATOR.law()
def somebody_has_an_option(kind: type[CandidateGenerator]) -> None:
    """Of the people of fifteen drawn programs, some have options."""
    drawn = (small.drawn(kind, seed, 40) for seed in range(15))
    require(any(len(generator.propose(people).arm) for generator, _, people in drawn), "nobody has any")


@GENERATOR.law(draws=5)
def another_model_leaves_the_arms_alone(kind: type[CandidateGenerator], seed: int) -> None:
    """``under`` gives a generator of the same arms for another model, and the one that it came from is as it was."""
    generator, _, people = small.drawn(kind, seed, 40)
    before = generator.propose(people)
    other = generator.under(lambda X: np.zeros(len(X)), GOAL)
    require(np.array_equal(other.arms, generator.arms), "the arms under another model are others")
    require(not len(other.propose(people).arm), "people have options under a model that rejects all")
    after = generator.propose(people)
    same = [options_of(before, i) == options_of(after, i) for i in range(PEOPLE)]
    require(all(same), f"person {same.index(False) if False in same else 0} has other options under the first model")


@GENERATOR.law()
def no_people_have_no_options(kind: type[CandidateGenerator]) -> None:
    """``propose`` takes no people, and gives no options."""
    generator, _, people = small.drawn(kind, 1, 40)
    require(not len(generator.propose(people[:0]).arm), "nobody has options")


@GENERATOR.law(draws=9)
def the_work_is_bounded(kind: type[CandidateGenerator], seed: int) -> None:
    """For a person of 51 features, most of a thousand steps, it scores a bounded number of rows."""
    for counted, _, _ in proposed_one_by_one(kind, seed):
        require(counted.rows <= MOST_ROWS, f"{counted.rows} rows are scored for a person, more than {MOST_ROWS}")


@GENERATOR.law(draws=9)
def options_change_different_features(kind: type[CandidateGenerator], seed: int) -> None:
    """No two options of a person change the same features, unless they are instances themselves."""
    for _, person, proposals in proposed_one_by_one(kind, seed):
        changed = (proposals.targets != person) @ np.eye(many.MANY + 1)[many.FEATURE_OF] > 0
        different = kind.copies_instances or len(np.unique(changed, axis=0)) == len(changed)
        require(different, f"the {len(changed)} options of a person change the same features twice")


def proposed_one_by_one(kind: type[CandidateGenerator], seed: int) -> Iterator[tuple[Counted, Array, Proposals]]:
    """People of many features, each with the score that has counted its rows, and their options."""
    generator, counted, people = many.drawn(kind, seed)
    for person in people:
        counted.rows = 0
        yield counted, person, generator.propose(person[np.newaxis])


def in_words(options: Sequence[tuple[int, bytes]]) -> str:
    """Arms with their targets."""
    return ", ".join(f"arm {arm} to {np.frombuffer(target)}" for arm, target in options) or "no option"

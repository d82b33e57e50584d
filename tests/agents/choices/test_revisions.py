"""What each choice picks in a fixed story, beside the revision that says so in every answer's ``policy_version``."""

from __future__ import annotations

import hashlib

import numpy as np
import pytest

from onward.agents.choices import TAP, Choice, Pull, registry
from onward.tests.support.choice_scripts import VERIFIER

STEPS, CANDIDATES, COLUMNS, WINDOW = 200, 400, 3, 10

PICKED = {
    "bwo_ucb": (1, "12111576c62c074e"),
    "factored": (2, "fb977b86ebf1b6c8"),
    "gp_ucb": (2, "7eb9d51f0c79e481"),
    "linucb": (1, "10d013e03760dbcf"),
    "posterior": (2, "2c191cf11cdd90be"),
    "protoar": (1, "c3a220f58833f06e"),
    "tap": (1, "48e2e83f98bacabd"),
}


def picked(kind: type[Choice]) -> str:
    """A hash of the picks of people whose rewards come late or never, some unseen, told execution probabilities with
    noise."""
    random = np.random.default_rng(42)
    points, chance = random.random((CANDIDATES, COLUMNS)), random.random(CANDIDATES)
    choice, picks, due = kind(points, WINDOW), [], {}
    if isinstance(choice, TAP):
        choice.verifier = VERIFIER
    for step in range(STEPS):
        for pull, reward in due.pop(step, ()):
            choice.forget(pull) if reward is None else choice.update(pull, reward)
        person, feasible = random.random(COLUMNS), np.flatnonzero(random.random(CANDIDATES) < random.random())
        told = np.exp(-np.abs(points[feasible] - person).mean(axis=1)) + 0.1 * random.standard_normal(len(feasible))
        pick = choice.choose(person, feasible, np.clip(told, 0, 1), lambda step=step: np.random.default_rng(step))
        assert pick is not None
        picks.append(pick.candidate)
        delay, luck = int(random.integers(1, 30)), random.random()
        fate = None if luck > 0.95 else float(luck < chance[pick.candidate])
        due.setdefault(step + delay, []).append((Pull(step, pick.candidate, pick.execution), fate))
    return hashlib.sha256(np.array(picks, dtype="<i8").tobytes()).hexdigest()[:16]


@pytest.mark.parametrize("name", sorted(registry))
def test_who_picks_otherwise_has_another_revision(name: str) -> None:
    kind, (revision, before) = registry[name], PICKED.get(name, (0, ""))
    found = picked(kind)
    assert (kind.revision, found) == (revision, before), (
        f"{name} picks {found}, in revision {revision} it was {before}: where its rule has changed, "
        f"let {kind.__name__}.revision be {revision + 1} and note ({revision + 1}, {found!r}) here"
    )

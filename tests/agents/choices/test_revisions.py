"""The picks of each choice in a fixed sequence, with the revision that every answer's ``policy_version`` carries."""

from __future__ import annotations

import hashlib

import numpy as np
import pytest

from onward.agents.choices import Choice, Pull, registry
from onward.agents.options import Options
from onward.tests.support.choice_artefacts import ARTEFACTS

STEPS, CANDIDATES, COLUMNS, WINDOW = 200, 400, 3, 10

PICKED = {
    "bwo_ucb": (1, "12111576c62c074e"),
    "emc": (1, "c3a220f58833f06e"),
    "gp_ucb": (2, "7eb9d51f0c79e481"),
    "linucb": (1, "10d013e03760dbcf"),
    "posterior": (2, "2c191cf11cdd90be"),
    "protoar": (1, "c3a220f58833f06e"),
    "residual": (1, "00c32342cb9bd520"),
    "stages": (1, "6f08fcb50f90b7de"),
    "tap": (1, "48e2e83f98bacabd"),
}


def picked(kind: type[Choice]) -> str:
    """A hash of the picks for people whose rewards come late or never, some unseen, with noisy execution
    probabilities."""
    random = np.random.default_rng(42)
    points, chance = random.random((CANDIDATES, COLUMNS)), random.random(CANDIDATES)
    choice, picks, due = kind(points, WINDOW), [], {}
    choice.equip(**{name: ARTEFACTS[name] for name in choice.needs})
    for step in range(STEPS):
        for pull, reward in due.pop(step, ()):
            choice.retract(pull) if reward is None else choice.update(pull, reward)
        person, feasible = random.random(COLUMNS), np.flatnonzero(random.random(CANDIDATES) < random.random())
        noisy = np.exp(-np.abs(points[feasible] - person).mean(axis=1)) + 0.1 * random.standard_normal(len(feasible))
        options = Options(person, feasible, points, feasible, np.clip(noisy, 0, 1))
        pick = choice.choose(options, lambda step=step: np.random.default_rng(step))
        assert pick is not None
        picks.append(pick.arm)
        delay, luck = int(random.integers(1, 30)), random.random()
        fate = None if luck > 0.95 else float(luck < chance[pick.arm])
        due.setdefault(step + delay, []).append((Pull(step, pick.arm, pick.execution, pick.context), fate))
    return hashlib.sha256(np.array(picks, dtype="<i8").tobytes()).hexdigest()[:16]


@pytest.mark.parametrize("name", sorted(registry))
def test_different_picks_need_another_revision(name: str) -> None:
    kind, (revision, before) = registry[name], PICKED.get(name, (0, ""))
    found = picked(kind)
    assert (kind.revision, found) == (revision, before), (
        f"{name} picks {found}, in revision {revision} it was {before}: where its rule has changed, "
        f"let {kind.__name__}.revision be {revision + 1} and note ({revision + 1}, {found!r}) here"
    )

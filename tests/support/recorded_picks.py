"""The picks of every choice in a fixed sequence, recorded with its revision.

    python -m onward.tests.support.recorded_picks    # writes tests/agents/choices/recorded_picks.json

It adds new choices, and those of another revision. Other picks of the same revision are refused.
"""

from __future__ import annotations

import hashlib
import json
import sys
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from onward.agents.choices import Choice, Pull, registry
from onward.agents.options import Options
from onward.benchmarks.improvement import choices  # noqa: F401 -- these are registered too
from onward.tests.support.choice_artefacts import ARTEFACTS

RECORDED = Path(__file__).parents[1] / "agents" / "choices" / "recorded_picks.json"
STEPS, CANDIDATES, COLUMNS, WINDOW = 200, 400, 3, 10

Recorded = dict[str, list[Any]]
"""The revision of each choice, and the hash of its picks."""


def recorded() -> Recorded:
    """What the file holds."""
    found: Recorded = json.loads(RECORDED.read_text(encoding="utf-8")) if RECORDED.exists() else {}
    return found


def current() -> Recorded:
    """What the choices pick now."""
    return {name: [kind.revision, picked(kind)] for name, kind in sorted(registry.items())}


def unrevised(before: Recorded, now: Recorded) -> list[str]:
    """A line for each choice that picks otherwise in the revision that was recorded."""
    return [
        f"{name} picks otherwise in revision {revision}: where its rule has changed, "
        f"let {registry[name].__name__}.revision be {revision + 1}"
        for name, (revision, hash) in now.items()
        if name in before and before[name][0] == revision and before[name][1] != hash
    ]


def picked(kind: type[Choice]) -> str:
    """A hash of the picks for people whose rewards come late or never, some unseen, with noisy execution
    probabilities."""
    random = np.random.default_rng(42)
    points, chance = random.random((CANDIDATES, COLUMNS)), random.random(CANDIDATES)
    choice, picks = kind(points, WINDOW), list[int]()
    due: dict[int, list[tuple[Pull, float | None]]] = {}
    choice.equip(**{name: ARTEFACTS[name] for name in choice.needs})
    for step in range(STEPS):
        for pull, reward in due.pop(step, ()):
            choice.retract(pull) if reward is None else choice.update(pull, reward)
        person, feasible = random.random(COLUMNS), np.flatnonzero(random.random(CANDIDATES) < random.random())
        noisy = np.exp(-np.abs(points[feasible] - person).mean(axis=1)) + 0.1 * random.standard_normal(len(feasible))
        options = Options(person, feasible, points, feasible, np.clip(noisy, 0, 1))
        pick = choice.choose(options, partial(np.random.default_rng, step))
        assert pick is not None
        picks.append(pick.arm)
        delay, luck = int(random.integers(1, 30)), random.random()
        fate = None if luck > 0.95 else float(luck < chance[pick.arm])
        due.setdefault(step + delay, []).append((Pull(step, pick.arm, pick.execution, pick.context), fate))
    return hashlib.sha256(np.array(picks, dtype="<i8").tobytes()).hexdigest()[:16]


def main() -> None:
    """Write the file."""
    now = current()
    if lines := unrevised(recorded(), now):
        sys.exit("\n".join(lines))
    RECORDED.write_text(json.dumps(now, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()

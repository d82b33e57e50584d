"""river's LinUCBDisjoint: a Bayesian linear regression a candidate. Runs in an environment of its own."""

from __future__ import annotations

from river.bandit import LinUCBDisjoint

from onward.benchmarks.arena.decisions import Decisions, Floats, Indices, main


class RiverLinUCB:
    """A candidate is an arm, the person the context."""

    def __init__(self, _: Decisions) -> None:
        self._policy = LinUCBDisjoint(seed=0)

    def choose(self, person: Floats, feasible: Indices) -> int:
        """Pull one of the feasible arms."""
        return int(self._policy.pull(feasible.tolist(), context=_context(person)))

    def learn(self, person: Floats, k: int, reward: float) -> None:
        """Update the arm."""
        self._policy.update(k, _context(person), reward)


def _context(person: Floats) -> dict[int, float]:
    return dict(enumerate(person.tolist()))


if __name__ == "__main__":
    main(RiverLinUCB)

from __future__ import annotations

import numpy as np

from onward.benchmarks import bandits, face
from onward.benchmarks.arena.decisions import draw, load, serve


def test_every_choice_has_its_cost_early_and_late(monkeypatch, tmp_path, capsys):
    monkeypatch.setattr(bandits, "RIVALS_PYTHON", tmp_path / "nowhere")
    args = face.parse(bandits.Args, None, ["--quick", "--seeds", "0", "--methods", "linucb,protoar"])
    values = {row.name: row.value for row in bandits.bandits(args)}
    assert values["candidates of a person, 500 at once"] > 0 < values["candidates of a person alone"]
    for name in ("linucb", "protoar"):
        for step in (100, 200):
            assert values[f"{name}, a decision at step {step}"] > 0
    assert "river LinUCBDisjoint" in capsys.readouterr().err


class Cheapest:
    """Somebody else's learner."""

    def __init__(self, decisions) -> None:
        self.decisions = decisions
        self.learned = 0

    def choose(self, person, feasible):
        t = next(t for t, other in enumerate(self.decisions.people) if other is person or (other == person).all())
        assert feasible.tolist() == np.flatnonzero(self.decisions.feasible[t]).tolist()
        return int(feasible[0])

    def learn(self, person, k, reward):
        assert reward in (0.0, 1.0)
        self.learned += 1


def test_a_rival_meets_the_same_decisions_in_another_process(tmp_path):
    drawn = draw(3, people=40, candidates=50)
    drawn.save(tmp_path / "decisions.npz")
    again = load(tmp_path / "decisions.npz")
    assert all((one == other).all() for one, other in zip(drawn, again, strict=True))
    rival = Cheapest(again)
    assert serve(rival, again) > 0
    assert rival.learned == sum(row.any() for row in again.feasible)

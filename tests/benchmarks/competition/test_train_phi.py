"""The command that trains phi: wrong flags are one line; with torch it is trained and written."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from onward.agents.actor import load_arrays
from onward.agents.candidates.recommenders import Bounds
from onward.benchmarks.competition import train_phi
from onward.benchmarks.competition.recommenders import Phi
from onward.environments.competition import CompetitionRules, draw_world
from onward.streams.errors import UsageError


def test_wrong_flags_are_refused_in_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for flags, says in (
        (["--updates", "0"], "--updates: input should be greater than or equal to 1"),
        (["--worlds", "no.npz"], "no.npz"),
    ):
        assert train_phi.run(["--output", str(tmp_path / "rl"), *flags]) == 2
        (line,) = capsys.readouterr().err.splitlines()
        assert says in line
    assert not (tmp_path / "rl").exists()


def test_a_world_that_is_not_there_or_has_nobody_to_help_is_refused() -> None:
    options, world = train_phi.PhiSettings(output=Path("rl"), world=1), draw_world(0, rows=1000)
    with pytest.raises(UsageError, match="--world 1: there are 1, counted from 0"):
        train_phi.phi(options, [world])
    with pytest.raises(UsageError, match="hardly anybody in it has a score below"):
        train_phi.phi(options, [world, replace(world, intercept=50.0)])


@pytest.mark.rl
def test_it_is_trained_and_runs_from_its_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert train_phi.run(["--output", str(tmp_path), "--updates", "20"]) == 0
    assert "recommender: update 20 of 20: error" in capsys.readouterr().err
    phi, world = Phi(load_arrays(tmp_path / "recommender.npz"), np.array(CompetitionRules().difficulty)), draw_world(0)
    people, bounds = world.people(np.random.default_rng(0), (3,)), Bounds(np.zeros(1), np.ones(1))
    assert phi.recommend(world.linear, people, np.full(3, 0.9), bounds).targets.shape == people.shape

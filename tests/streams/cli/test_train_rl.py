"""`onward train-rl`: without torch one line says what is missing; with it, the goal is trained, resumed and written."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from onward.agents.actor import load_arrays
from onward.agents.goals.sac import INPUTS, goal_policy
from onward.streams.cli import main, train_rl

SMALL = ["--lessons", "3"]


def test_without_torch_one_line_says_what_to_install(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(train_rl, "find_spec", lambda name: None)
    assert main(["train-rl", "goal", "--output", str(tmp_path / "rl")]) == 2
    assert capsys.readouterr().err == "onward: onward train-rl needs torch: pip install 'onward[rl]'\n"
    assert not (tmp_path / "rl").exists()


@pytest.mark.parametrize(
    ("flags", "says"),
    [
        (["--beta", "0"], "--beta: input should be greater than 0 (it is '0')"),
        (["--tau", "nan"], "--tau: input should be a finite number (it is 'nan')"),
        (["--lessons", "0"], "--lessons: input should be greater than or equal to 1"),
        (["--horizon", "-1"], "--horizon: input should be greater than or equal to 1"),
        (["--seed", "-1"], "--seed: input should be greater than or equal to 0"),
        (["--worlds", "no.npz"], "no.npz"),
    ],
)
def test_wrong_flags_are_refused_in_one_line(
    flags: list[str], says: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(train_rl, "find_spec", lambda name: None)  # they are refused with torch and without it
    assert main(["train-rl", "goal", "--output", str(tmp_path / "rl"), *flags]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert says in line
    assert not (tmp_path / "rl").exists()


def test_a_recommender_is_not_trained_any_more(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["train-rl", "recommender", "--output", str(tmp_path / "rl")]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert line == "onward: AGENT: input should be 'goal' (it is 'recommender')"


@pytest.mark.rl
def test_the_goal_is_trained_and_runs_from_its_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["train-rl", "goal", "--output", str(tmp_path), *SMALL]) == 0
    shown = capsys.readouterr()
    assert "goal: lesson 3 of 3: reward" in shown.err
    assert f"goal: {tmp_path / 'goal.npz'}" in shown.out
    assert -1 < goal_policy(load_arrays(tmp_path / "goal.npz"))(np.zeros((1, INPUTS))).item() < 1


@pytest.mark.rl
def test_an_interrupted_training_ends_as_one_that_was_not(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    whole, broken = tmp_path / "whole", tmp_path / "broken"
    assert main(["train-rl", "goal", "--output", str(whole), *SMALL]) == 0
    steps = train_rl.sac_training.SacTraining._teach

    def interrupted(self: train_rl.sac_training.SacTraining) -> object:
        if self.lesson == 2:
            raise KeyboardInterrupt
        return steps(self)

    with monkeypatch.context() as patch:
        patch.setattr(train_rl.sac_training.SacTraining, "_teach", interrupted)
        assert main(["train-rl", "goal", "--output", str(broken), *SMALL]) == 130
    assert not (broken / "goal.npz").exists()
    assert main(["train-rl", "goal", "--output", str(broken), *SMALL]) == 0
    assert "goal: goes on from" in capsys.readouterr().err
    one, other = (load_arrays(folder / "goal.npz") for folder in (whole, broken))
    assert all(np.array_equal(array, other[name]) for name, array in one.items())
    assert (whole / "goal.csv").read_text() == (broken / "goal.csv").read_text()

    assert main(["train-rl", "goal", "--output", str(broken), *SMALL, "--tau", "6"]) == 2
    assert "is of a training with another tau" in capsys.readouterr().err
    (broken / "goal.checkpoint").write_bytes(b"torn")
    assert main(["train-rl", "goal", "--output", str(broken), *SMALL]) == 2
    assert len(capsys.readouterr().err.splitlines()) == 1

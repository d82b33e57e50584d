"""The learned policy of a goal, kept in the bundle of a model, and refused when it is damaged or of something else."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

import numpy as np
import pytest

import onward
from onward.agents.goals.sac import INPUTS
from onward.schemas.specfile import LoadedSpec
from onward.streams.cli import main
from onward.streams.errors import ModelError, OnwardError, UsageError
from onward.streams.programs.assembly import assemble, check_fits
from onward.streams.programs.bundle import model_files
from onward.streams.programs.bundle.goal_policy import load_goal_policy
from onward.streams.programs.bundle.manifest import MANIFEST
from onward.streams.programs.program import Program
from onward.streams.programs.spec_check import load_program_spec
from onward.tests.support.goal_policies import constant, untrained, written
from onward.tests.support.loans import reviewed_spec, write_loans

LIMITED = """
policy:
  goal: {goal}
  window: {{time: P90D}}
capacity: {{places: 4, round: P7D{offset}}}
"""
SEEN = np.random.default_rng(0).normal(size=(5, INPUTS))


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("policies")
    write_loans(folder / "loans.csv")
    text = reviewed_spec()
    before = text[: text.index("policy:")]
    for goal in ("sac", "capacity"):
        (folder / f"{goal}.yaml").write_text(before + LIMITED.format(goal=goal, offset=""))
    (folder / "offset.yaml").write_text(before + LIMITED.format(goal="sac", offset=", offset: true"))
    written(folder / "goal.npz", untrained(1))
    train(folder, "sac", "model", folder / "goal.npz")
    train(folder, "capacity", "plain")
    return folder


def train(folder: Path, spec: str, model: str, policy: Path | None = None) -> str:
    manifest = onward.train(
        folder / "loans.csv",
        folder / f"{spec}.yaml",
        folder / model,
        estimator="logistic_regression",
        goal_policy=policy,
    )
    return manifest.version


def loaded(folder: Path, spec: str = "sac") -> LoadedSpec:
    return load_program_spec(folder / f"{spec}.yaml")


@pytest.fixture
def copied(folder: Path, tmp_path: Path) -> Path:
    """A folder of its own with the program whose goal is learned."""
    for file in ("sac.yaml", *(f"model/{file.name}" for file in (folder / "model").iterdir())):
        (tmp_path / file).parent.mkdir(exist_ok=True)
        (tmp_path / file).write_bytes((folder / file).read_bytes())
    return tmp_path


@pytest.mark.parametrize("spec", ["sac", "offset"])
def test_a_bundle_holds_the_policy_that_its_goal_needs(folder: Path, spec: str) -> None:
    program = assemble(loaded(folder, spec))
    kept, given = program.bundle.goal_policy, load_goal_policy((folder / "goal.npz").read_bytes())
    assert kept is not None
    assert kept(SEEN).tobytes() == given(SEEN).tobytes()
    assert (program.round_goal().offset is not None) is (spec == "offset")


def test_another_policy_makes_another_version_and_none_leaves_it(folder: Path, tmp_path: Path) -> None:
    other = written(tmp_path / "other.npz", untrained(2))
    versions = [train(folder, "capacity", f"version {number}", policy) for number, policy in enumerate((None, other))]
    assert versions[0] == json.loads((folder / "plain" / MANIFEST).read_text())["version"]
    assert versions[0] != versions[1]


def test_without_the_policy_training_and_import_end_in_one_line(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    flags = ["--spec", str(folder / "sac.yaml"), "--output", str(folder / "none")]
    for command in (["train", str(folder / "loans.csv")], ["models", "import", "no.onnx", "--data", "no.csv"]):
        assert main([*command, *flags]) == UsageError.exit_code
        (line,) = capsys.readouterr().err.splitlines()
        assert "`goal: sac` needs a policy: give --goal-policy FILE, which `onward train-rl goal` writes" in line
    assert not (folder / "none").exists()


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (constant(0.0) | {"weight_0": np.zeros((12, 4))}, "it is no goal policy: the policy sees 12 numbers"),
        (b"torn", "it is no goal policy: "),
        (None, "cannot be read: No such file"),
    ],
)
def test_a_file_that_holds_no_policy_is_refused(folder: Path, tmp_path: Path, content: object, says: str) -> None:
    file = tmp_path / "goal.npz"
    if isinstance(content, dict):
        written(file, content)
    elif isinstance(content, bytes):
        file.write_bytes(content)
    with pytest.raises(OnwardError, match=says) as refused:
        train(folder, "sac", "refused", file)
    assert "\n" not in str(refused.value)


def test_a_missing_or_damaged_policy_is_refused_in_one_line(copied: Path) -> None:
    file, manifest = copied / "model" / "goal.npz", copied / "model" / MANIFEST
    content = file.read_bytes()
    for damaged, says in ((content[:-1] + b"x", r"sha256 of file goal\.npz is"), (content[:-1], "has fewer bytes")):
        file.write_bytes(damaged)
        with pytest.raises(ModelError, match=says):
            assemble(loaded(copied))
    file.unlink()
    with pytest.raises(ModelError, match=r"file goal\.npz is missing"):
        assemble(loaded(copied))
    np.savez(file, **{**constant(0.0), "bias_0": np.array([{}] * 4, dtype=object)})
    facts = json.loads(manifest.read_text())
    digest = hashlib.sha256(file.read_bytes()).hexdigest()
    facts["goal_policy"] |= {"size": file.stat().st_size, "sha256": digest}
    manifest.write_text(json.dumps(facts))
    with pytest.raises(ModelError, match=r"file goal\.npz is refused: Object arrays cannot be loaded"):
        assemble(loaded(copied))


def test_a_model_without_the_policy_is_refused_where_the_goal_needs_it(
    folder: Path, copied: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    program: Program = assemble(loaded(folder))
    lacking = folder / "plain" / MANIFEST
    with pytest.raises(ModelError, match="has no goal policy, which `goal: sac` needs: make a new one with"):
        check_fits(program.load(str(lacking), None), program.spec, str(lacking))
    flags = ["--brokers", "127.0.0.1:1", "--manifest", str(lacking), "--spec", str(folder / "sac.yaml")]
    assert main(["models", "announce", *flags]) == UsageError.exit_code
    assert "has no goal policy, which `goal: sac` needs" in capsys.readouterr().err


def test_a_policy_may_not_unpack_to_more_than_a_model(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(model_files, "LARGEST_UNPACKED_BYTES", 100)
    with pytest.raises(ValueError, match="the limit is 100"):
        load_goal_policy((folder / "goal.npz").read_bytes())

"""A program whose options are to help: from training to what an outcome teaches."""

from __future__ import annotations

from pathlib import Path

import msgspec
import numpy as np
import pytest
from msgspec import UNSET

from onward import load_program
from onward.agents.choices import Pull
from onward.schemas.events import Recourse
from onward.streams.engine.assessment import propose
from onward.streams.engine.state import CurrentModel
from onward.streams.programs.assembly import assemble
from onward.streams.programs.bundle.manifest import MANIFEST, Manifest
from onward.streams.programs.program import Program
from onward.streams.programs.spec_check import load_program_spec
from onward.streams.programs.training.train import train
from onward.testing.pipeline import PipelineRun
from onward.testing.tape import Tape
from onward.tests.support.ledgers import cases
from onward.tests.support.loans import write_loans

SPEC = """\
program: loan
features:
  - {name: income, type: integer, bounds: [0, 200], unit: kEUR, mutable: up}
  - {name: debts, type: integer, bounds: [0, 20], mutable: down}
  - {name: region, type: categorical, categories: [north, south], mutable: none}
label: {name: repaid, desired: 1}
model: {manifest: model/manifest.json}
policy: {window: {steps: 4}%s}
"""
PEOPLE = 100
POOR = {"region": "north", "income": 42, "debts": 7}


def program(folder: Path, policy: str = "", rows: int = 400) -> Program:
    """The program of a spec file, with a logistic regression of some rows."""
    write_loans(folder / "loans.csv")
    lines = (folder / "loans.csv").read_text().splitlines(keepends=True)
    (folder / "loans.csv").write_text("".join(lines[: rows + 1]))
    spec = folder / "loan.yaml"
    spec.write_text(SPEC % policy)
    if not (folder / "model").exists():
        train(folder / "loans.csv", load_program_spec(spec), folder / "model", estimator="logistic_regression", seed=0)
    return assemble(load_program_spec(spec))


@pytest.fixture(scope="module")
def trained(tmp_path_factory) -> Program:
    return program(tmp_path_factory.mktemp("trained"))


def story_of(one: Program, tmp_path: Path) -> Tape:
    return Tape(PipelineRun({"loan": one}, tmp_path))


def test_a_spec_without_an_objective_asks_for_options_that_help(trained, tmp_path):
    policy = trained.spec.policy
    assert (policy.objective, policy.choice, trained.nu) == ("improvement", "residual", 4.0 / trained.codec.dimension)
    story = story_of(trained, tmp_path)
    story.applies("x", features=POOR)
    story.fold()
    [answer] = story.answers()
    assert isinstance(answer, Recourse)
    assert (answer.policy, answer.execution_source) == ("residual", "assumed")
    helps = trained.bundle.improvement
    best, row = answer.options[0], trained.codec.encode_many([POOR])
    after = trained.codec.encode_many([{**POOR, **{change.feature: change.target for change in best.changes}}])
    assert helps(after, row)[0] > helps(row, row)[0] + 0.3


@pytest.mark.parametrize("options", [1, 3])
def test_whoever_picks_the_recourse_says_how_probably_it_helps(tmp_path, options):
    """A choice that reads no outlook is given none, where it picks one option."""
    one = program(tmp_path, f", choice: linucb, options: {options}")
    story = story_of(one, tmp_path)
    story.applies("x", features=POOR)
    story.fold()
    [answer] = story.answers()
    row = one.codec.encode_many([POOR])
    assert len(answer.options) <= options
    for option in answer.options:
        after = one.codec.encode_many([{**POOR, **{change.feature: change.target for change in option.changes}}])
        assert option.improvement_probability == pytest.approx(one.bundle.improvement(after, row)[0])
    model = CurrentModel.from_bundle(one, one.bundle)
    assert (propose(one, model, row).outlook is None) == (options == 1)


def test_what_comes_of_an_option_changes_what_the_next_people_are_told(trained, tmp_path):
    def told(result: str) -> list[str]:
        story = story_of(trained, tmp_path / result)
        (tmp_path / result).mkdir()
        for number in range(10):
            story.applies(f"x{number}", 1000 * number, features=POOR)
            story.outcome(f"x{number}", 1000 * number + 1, result=result, option="1")
        story.fold()
        return [str(case.options[0]) for case in story.answers()]

    (first, *_, good), (same, *_, bad) = told("improved"), told("not_improved")
    assert first == same
    assert good != bad


def test_what_a_pick_was_made_with_stays_with_its_case(trained, tmp_path):
    story = story_of(trained, tmp_path)
    story.applies("x", features=POOR)
    [case] = cases(story.fold())
    assert all(len(option.context) >= 7 * 8 for option in case.options)


def test_outcomes_are_learned_under_a_retrained_model_with_another_estimate(trained, tmp_path):
    second = program(tmp_path, rows=200).bundle
    point = np.array([[0.3, 0.2, 1.0, 0.0]])
    assert second.improvement.log_odds(point, point) != trained.bundle.improvement.log_odds(point, point)

    people, learner = trained.codec.encode_many([POOR]), trained.learner()
    older, newer = (
        propose(trained, CurrentModel.from_bundle(trained, one), people).options_of(0)
        for one in (trained.bundle, second)
    )
    pick = learner.choose(older, np.random.default_rng)
    learner.update(Pull(0, pick.arm, pick.execution, pick.context), 0.0)
    assert learner.state()["information"].any()
    assert learner.choose(newer, np.random.default_rng).execution < pick.execution


def test_the_manifest_tells_how_far_the_estimate_can_be_believed(trained):
    entry = trained.bundle.manifest.improvement
    assert entry.method == "label_prior"
    assert entry.calibration.roc_auc > 0.9
    assert sum(rows for _, _, rows in entry.calibration.reliability) == 100
    assert 0.0 < entry.calibration.brier_score < 0.15


def test_labels_of_pure_chance_leave_as_many_options_as_by_cost(tmp_path):
    def several(objective: str) -> float:
        header, *rows = (tmp_path / "loans.csv").read_text().splitlines()
        labels = np.random.default_rng(0).integers(2, size=len(rows))
        noise = [f"{row.rsplit(',', 1)[0]},{label}" for row, label in zip(rows, labels, strict=True)]
        (tmp_path / "noise.csv").write_text("\n".join([header, *noise]))
        spec = tmp_path / f"{objective}.yaml"
        policy = f", options: 3, objective: {objective}"
        spec.write_text(SPEC.replace("manifest: model", f"manifest: {objective}") % policy)
        train(tmp_path / "noise.csv", load_program_spec(spec), tmp_path / objective, estimator="random_forest", seed=0)
        (tmp_path / "people.csv").write_text("\n".join([header, *noise[:PEOPLE]]))
        answers = [one for one in load_program(spec).suggest(tmp_path / "people.csv") if isinstance(one, Recourse)]
        assert all(answer.improvement_source is UNSET for answer in answers)
        assert not any("wanted outcome with probability" in str(answer) for answer in answers)
        return float(np.mean([len(answer.options) > 1 for answer in answers]))

    write_loans(tmp_path / "loans.csv")
    assert several("improvement") >= 0.8 * several("cost") > 0.4


def test_by_cost_a_program_is_what_it_was(tmp_path):
    one = program(tmp_path, ", objective: cost")
    policy = one.spec.policy
    assert (policy.choice, one.nu) == ("posterior", 1.0 / one.codec.dimension)
    assert not (tmp_path / "model" / "improvement.npz").exists()
    assert one.objective_under(one.bundle).improvement is None


def test_a_bundle_without_an_estimate_is_judged_by_its_score(trained, tmp_path):
    folder = Path(trained.bundle.address).parent
    (tmp_path / "model").mkdir()
    for file in folder.iterdir():
        (tmp_path / "model" / file.name).write_bytes(file.read_bytes())
    manifest = msgspec.json.decode((folder / MANIFEST).read_bytes(), type=Manifest)
    older = msgspec.structs.replace(manifest, improvement=msgspec.UNSET)
    (tmp_path / "model" / MANIFEST).write_bytes(msgspec.json.encode(older))
    one = program(tmp_path)
    story = story_of(one, tmp_path)
    story.applies("x", features=POOR)
    story.fold()
    [answer] = story.answers()
    assert isinstance(answer, Recourse)
    assert answer.improvement_source == "score"

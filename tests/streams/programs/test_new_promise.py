"""A promise of one file, docs/examples/methods/distance.py: from its spec to the screen of a new model."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from pathlib import Path

import msgspec
import numpy as np
import pytest

import onward
from onward.schemas.events import Model, PromiseChange, Revalidation
from onward.schemas.spec_document import document, spec_of
from onward.streams.api.training import train
from onward.streams.cli import main
from onward.streams.programs.assembly import assemble
from onward.streams.programs.spec_check import load_program_spec
from onward.testing.pipeline import PipelineRun
from onward.testing.tape import DAY_MS, Tape
from onward.tests.support.example_methods import example_methods
from onward.tests.support.loans import reviewed_spec, write_loans

PEOPLE = [{"income": income, "debts": debts, "region": "north"} for income in (20, 35, 45) for debts in (2, 5, 8)]


@pytest.fixture(autouse=True)
def methods() -> Iterator[None]:
    with example_methods():
        yield


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    write_loans(tmp_path / "loans.csv")
    return tmp_path


def spec(folder: Path, promise: str, model: str = "model") -> Path:
    path = folder / f"{model}.yaml"
    path.write_text(reviewed_spec().replace("model/manifest", f"{model}/manifest") + f"promise: {promise}\n")
    return path


def trained(folder: Path, promise: str, *flags: str) -> Path:
    file = spec(folder, promise)
    args = ["train", str(folder / "loans.csv"), "--spec", str(file), "--output", str(folder / "model"), *flags]
    assert main([*args, "--estimator", "logistic_regression"]) == 0
    return file


@pytest.mark.parametrize(
    ("promise", "problem"),
    [
        ("{kind: distance, parameters: {most: 1}}", "promise.parameters.most: distance has no parameter 'most': it ta"),
        (
            "{kind: distance, parameters: {least: -1}}",
            "promise.parameters.least: least is -1.0: distance needs a number at least 0 or auto",
        ),
        (
            "{kind: distance, parameters: {least: much}}",
            "promise.parameters.least: least is much: distance needs a num",
        ),
        ("{kind: distance, radius: 1}", "promise.radius: distance has no parameter 'radius': it takes least"),
        ("{kind: lp, parameters: {norm: 1}}", "promise.parameters.norm: write `norm` in `promise` itself, without"),
        (
            "{kind: lp, parameters: {least: 1}}",
            "promise.parameters.least: lp has no parameter 'least': it takes norm, ",
        ),
    ],
)
def test_the_check_knows_its_parameters(
    folder: Path, promise: str, problem: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["spec", "check", str(spec(folder, promise))]) == 2
    assert problem in capsys.readouterr().err


def test_a_spec_that_says_its_default_means_the_same(folder: Path) -> None:
    short = load_program_spec(spec(folder, "{kind: distance}"))
    long = load_program_spec(spec(folder, "{kind: distance, parameters: {least: 0}}"))
    other = load_program_spec(spec(folder, "{kind: distance, parameters: {least: 1}}"))
    assert short.sha256 == long.sha256 != other.sha256
    assert spec_of(document(other.spec), other.spec.model.manifest) == other.spec


def test_it_is_measured_at_training_and_told_in_its_words(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = trained(folder, "{kind: distance, parameters: {least: auto}}", "--retrains", "8")
    out, err = capsys.readouterr()
    assert "fitting 8 more models on resamples of the data, to measure the promise" in err
    assert "promise: distance; options have at least " in out
    program = onward.load_program(file)
    manifest = msgspec.json.decode((folder / "model" / "manifest.json").read_bytes())
    options = [option for answer in program.suggest(PEOPLE) for option in answer.to_dict()["options"]]
    nearest = min(option["promise"]["distance"] for option in options)
    assert nearest >= manifest["measured"]["promise"]["means"]["least_distance"] > 0.0
    assert main(["suggest", str(folder / "loans.csv"), "--spec", str(file)]) == 0
    assert "; holds while log odds fall by less than " in capsys.readouterr().out


def test_a_model_without_the_retrains_that_it_needs_is_refused(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    trained(folder, "{kind: distance}")
    file = spec(folder, "{kind: distance, parameters: {least: auto}}")
    assert main(["suggest", str(folder / "loans.csv"), "--spec", str(file)]) == 2
    assert "has no retrains, which the promise distance needs" in capsys.readouterr().err


def test_owners_are_told_to_ask_for_less_where_nobody_is_served(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    trained(folder, "{kind: distance, parameters: {least: 60}}")
    assert "nobody is served; to serve more people: a smaller `promise.parameters.least`" in capsys.readouterr().err


def test_a_new_model_is_asked_only_about_options_that_are_nearer_than_it(folder: Path) -> None:
    file = trained(folder, "{kind: distance, parameters: {least: 0.4}}")
    second = train(folder / "loans.csv", file, folder / "later", estimator="logistic_regression", seed=2)
    program = assemble(load_program_spec(file))
    story = Tape(PipelineRun({program.name: program}, folder))
    for number, features in enumerate(PEOPLE):
        story.applies(f"p{number}", 0, features, program.name)
    manifest = folder / "later" / "manifest.json"
    sha256 = hashlib.sha256(manifest.read_bytes()).hexdigest()
    story.send("models", Model(program.name, second.version, str(manifest), sha256), 1000, "m")
    story.tick(DAY_MS)
    story.fold()
    later = program.load(str(manifest), sha256).model.score
    moved = program.promise.distance(program.bundle.model.score, later)
    given = [answer for answer in story.answers() if getattr(answer, "options", None)]
    nearest = np.array([min(option.promise["distance"] for option in answer.options) for answer in given])
    counts = np.array([len(answer.options) for answer in given])
    events = story.run.events("promises", PromiseChange | Revalidation)
    [scan] = [event for event in events if isinstance(event, Revalidation)]
    assert 0 < scan.cleared == counts[nearest > moved].sum() < scan.open == counts.sum()

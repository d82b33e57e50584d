"""Every fault that was planted is found, and nothing in data without one; as command, in Python and after training."""

from __future__ import annotations

import pickle
from collections.abc import Mapping
from pathlib import Path

import msgspec
import pytest

import onward
from onward.streams.cli import main
from onward.streams.errors import ModelError, UsageError
from onward.streams.review.report import Place, Review, Suspicion, worst
from onward.tests.support.planted import data_of, write_planted

PEOPLE = 40


@pytest.fixture(scope="module")
def specs(tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, Path]:
    """The planted programs."""
    return write_planted(tmp_path_factory.mktemp("planted"))


@pytest.fixture(scope="module")
def told_by_train(specs: Mapping[str, Path], tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, str]:
    """What `onward train` said on standard error, by program; the models are trained."""
    told = {}
    for name, spec in specs.items():
        capture = pytest.MonkeyPatch()
        lines: list[str] = []
        with capture.context() as patch:
            patch.setattr("onward.streams.cli.train.tell", lines.append)
            train = ["train", str(data_of(spec)), "--spec", str(spec), "--output", str(spec.parent / "model")]
            assert main([*train, "--estimator", "logistic_regression"]) == 0
        told[name] = "\n".join(lines)
    return told


@pytest.fixture(scope="module")
def reviews(specs: Mapping[str, Path], told_by_train: Mapping[str, str]) -> Mapping[str, Review]:
    assert told_by_train
    return {name: onward.load_program(spec).review(data_of(spec), people=PEOPLE) for name, spec in specs.items()}


def test_data_without_a_fault_raise_no_suspicion(
    reviews: Mapping[str, Review], told_by_train: Mapping[str, str]
) -> None:
    clean = reviews["clean"]
    assert clean.suspicions == ()
    assert "suspicious" not in told_by_train["clean"]
    assert clean.sample == PEOPLE
    assert {use.name for use in clean.features} == {"income", "used"}
    assert len(clean.examples) == 3


@pytest.mark.parametrize(
    ("program", "rule", "feature", "line"),
    [
        ("afterwards", "post_decision", "buyer", 6),
        ("afterwards", "code", "visits", 5),
        ("afterwards", "single_rows", "case", 3),
        ("afterwards", "single_rows", "first", 7),
        ("copies", "near_copy", "internal_rank", 3),
        ("copies", "near_copy", "part_paid", 4),
        ("parts", "incoherent", "card_debt", 3),
        ("parts", "doubles", "savings", 5),
        ("parts", "against_data", "used", 6),
        ("parts", "approval_rate", None, 8),
    ],
)
def test_every_planted_fault_is_found_and_its_line_named(
    reviews: Mapping[str, Review], specs: Mapping[str, Path], program: str, rule: str, feature: str | None, line: int
) -> None:
    found = [one for one in reviews[program].suspicions if (one.rule, one.feature) == (rule, feature)]
    assert [(one.place.file, one.place.line) for one in found] == [(str(specs[program]), line)]
    assert str(found[0]).startswith(f"{specs[program]}:{line}:")


def test_no_sound_feature_is_called_a_fault(reviews: Mapping[str, Review]) -> None:
    of_columns = {"post_decision", "near_copy", "code", "single_rows", "against_data"}
    suspected = [(one.rule, one.feature) for review in reviews.values() for one in review.suspicions]
    sound = {"income", "savings", "card_debt", "total_debt"}
    assert not [one for one in suspected if one[0] in of_columns and one[1] in sound]


def test_training_ends_with_the_three_worst(told_by_train: Mapping[str, str], specs: Mapping[str, Path]) -> None:
    lines = told_by_train["afterwards"].splitlines()[-3:]
    assert [line.split(":")[0] for line in lines] == ["suspicious"] * 3
    assert "buyer: '0' for 100% of the rows without the wanted outcome" in lines[0]
    assert f"{specs['afterwards']}:5:" in lines[1]


def test_the_command_prints_what_python_gets(
    reviews: Mapping[str, Review], specs: Mapping[str, Path], capsys: pytest.CaptureFixture[str]
) -> None:
    spec = specs["afterwards"]
    command = ["spec", "review", str(spec), "--data", str(data_of(spec)), "--people", str(PEOPLE)]
    assert main([*command, "--json"]) == 0
    printed = msgspec.json.decode(capsys.readouterr().out, type=Review)
    assert printed == reviews["afterwards"]
    assert main(command) == 0
    told = capsys.readouterr().out
    assert f"{PEOPLE} of them would be told {printed.options} options; 0 have none" in told
    assert all(str(one) in told for one in printed.suspicions)
    assert ("models of other rows accept" in told) is (printed.lasting is not None)
    assert all(text in told for example in printed.examples for text in example.texts)


def test_a_program_whose_spec_is_in_no_file_names_the_path_alone(
    reviews: Mapping[str, Review], specs: Mapping[str, Path]
) -> None:
    program = pickle.loads(pickle.dumps(onward.load_program(specs["copies"])))
    found = program.review(data_of(specs["copies"]), people=PEOPLE).suspicions
    assert [one.place for one in found] == [Place(one.place.path) for one in reviews["copies"].suspicions]


@pytest.mark.parametrize(
    ("cells", "flags", "code", "message"),
    [
        ("income,used,visits,ok\n1,1,1,1\n", (), 2, "data.csv:1: job: the column is missing"),
        ("income,used,visits,job\n1,1,1,cook\n", (), 2, "data.csv:1: ok: the label column is missing"),
        ("income,used,visits,job,ok\n1,1,1,cook,\n", (), 2, "data.csv: ok: no row has a label"),
        ("income,used,visits,job,ok\n1,1,1,king,1\n", (), 2, "data.csv:2: job: "),
        ("income,used,visits,job,ok\n1,1,1,cook,1\n", ("--people", "0"), 2, "--people is 0: give a number from 1"),
    ],
)
def test_what_cannot_be_used_is_one_line(
    specs: Mapping[str, Path],
    told_by_train: Mapping[str, str],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    cells: str,
    flags: tuple[str, ...],
    code: int,
    message: str,
) -> None:
    assert told_by_train
    (tmp_path / "data.csv").write_text(cells)
    command = ["spec", "review", str(specs["clean"]), "--data", str(tmp_path / "data.csv"), *flags]
    assert main(command) == code == UsageError.exit_code
    [line] = capsys.readouterr().err.splitlines()
    assert message in line


def test_without_a_model_the_command_that_trains_one_is_named(
    specs: Mapping[str, Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "spec.yaml").write_text(specs["clean"].read_text())
    command = ["spec", "review", str(tmp_path / "spec.yaml"), "--data", str(data_of(specs["clean"]))]
    assert main(command) == ModelError.exit_code
    assert "train the model first, as in `onward train DATA.csv" in capsys.readouterr().err


def test_the_worst_are_of_different_rules_as_far_as_there_are_some() -> None:
    found = [Suspicion(rule, Place(""), 0.0, str(number)) for number, rule in enumerate("aabbc")]
    assert [one.text for one in worst(found, 3)] == ["0", "2", "4"]
    assert [one.text for one in worst(found[:3], 3)] == ["0", "2", "1"]
    assert worst([], 3) == []

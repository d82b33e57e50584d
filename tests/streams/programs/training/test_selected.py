"""Rows without a label: what they shape, what is said of them, and what becomes of those that cannot be read."""

from __future__ import annotations

import csv
import warnings
from pathlib import Path

import msgspec
import pytest

import onward
from onward.agents.choices import residual
from onward.schemas.draft import draft_spec
from onward.schemas.specfile import load_spec
from onward.schemas.unlabelled import Unlabelled
from onward.streams.programs.assembly import assemble
from onward.streams.programs.bundle.measured import Measured, Quality
from onward.streams.programs.program import Program
from onward.streams.programs.selected_labels import selected_in_words
from onward.tests.support.loans import reviewed_spec, write_loans

READ = "label: {name: repaid, desired: 1, missing: unlabelled}"


def write_selected(path: Path) -> int:
    """The example with labels of people of a high income and few debts only; return how many have none."""
    write_loans(path)
    with path.open(newline="") as stream:
        rows = list(csv.DictReader(stream))
    blank = [row for row in rows if float(row["income"]) - 4.0 * float(row["debts"]) < 10.0]
    for row in blank:
        row["repaid"] = ""
    with path.open("w", newline="") as stream:
        writer = csv.DictWriter(stream, rows[0].keys())
        writer.writeheader()
        writer.writerows(rows)
    return len(blank)


def write_spec(folder: Path, *, is_read: bool) -> Path:
    text = reviewed_spec()
    [line] = [each for each in text.splitlines() if each.startswith("label:")]
    spec = folder / "loans.yaml"
    text = text.replace("objective: cost, generator: search, choice: protoar", "generator: search, choice: stages")
    spec.write_text(text.replace(line, READ if is_read else line))
    return spec


def train(folder: Path, spec: Path) -> tuple[onward.Manifest, list[str]]:
    """The model of a spec and the data beside it, and what is warned of."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        manifest = onward.train(folder / "loans.csv", spec, folder / "model", estimator="logistic_regression")
    return manifest, [str(each.message) for each in caught]


def program_of(spec: Path) -> Program:
    return assemble(load_spec(spec))


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, onward.Manifest, int]:
    folder = tmp_path_factory.mktemp("selected")
    count = write_selected(folder / "loans.csv")
    spec = write_spec(folder, is_read=True)
    manifest, told = train(folder, spec)
    assert [line for line in told if "rows without a label are read" in line]
    assert [line for line in told if "labels seem to be of approved people only" in line]
    return folder, manifest, count


def test_people_without_a_label_are_among_those_that_options_are_made_for(
    trained: tuple[Path, onward.Manifest, int],
) -> None:
    folder, manifest, count = trained
    data = manifest.measured.data
    assert data.unlabelled == Unlabelled(count, count, 0)
    assert count > 50
    assert data.approvals.unlabelled < data.approvals.labelled
    with (folder / "loans.csv").open(newline="") as stream:
        labelled = [float(row["income"]) for row in csv.DictReader(stream) if row["repaid"]]
    incomes = [row["income"] for row in program_of(folder / "loans.yaml").bundle.reference]
    assert min(incomes) < min(labelled)


def test_it_is_said_what_calibration_does_not_cover(trained: tuple[Path, onward.Manifest, int]) -> None:
    _, manifest, count = trained
    [line] = selected_in_words(manifest.measured)
    assert line.startswith("labels seem to be of approved people only: the model approves ")
    assert f"of the {count} without one" in line


def test_less_help_is_told_than_without_these_rows(trained: tuple[Path, onward.Manifest, int], tmp_path: Path) -> None:
    folder, _, count = trained
    spec = write_spec(tmp_path, is_read=False)
    with pytest.warns(onward.OnwardWarning, match=f"{count} rows are left out: .*`label: {{missing: unlabelled}}`"):
        onward.train(folder / "loans.csv", spec, tmp_path / "model", estimator="logistic_regression")
    read, left_out = (program_of(each / "loans.yaml").bundle.improvement for each in (folder, tmp_path))
    codec = program_of(spec).codec
    poor = codec.encode_many([{"income": 10, "debts": 8, "region": "north"}])
    better = codec.encode_many([{"income": 20, "debts": 5, "region": "north"}])
    assert read is not None
    assert left_out is not None
    gains = [(prior(better, poor) - prior(poor, poor)).item() for prior in (read, left_out)]
    assert 0.0 <= gains[0] < gains[1]


def test_options_say_what_outcomes_make_of_help(trained: tuple[Path, onward.Manifest, int]) -> None:
    folder, _, _ = trained
    program = onward.load_program(folder / "loans.yaml")
    answers = program.suggest(
        [{"income": 25, "debts": 8, "region": "north"}, {"income": 30, "debts": 9, "region": "south"}]
    )
    options = [option for answer in answers if isinstance(answer, onward.Recourse) for option in answer.options]
    assert options
    for option in options:
        assert option.learned_improvement_probability == pytest.approx(option.improvement_probability)
    learner = program_of(folder / "loans.yaml").learner()
    assert learner._covariance[0, 0] == pytest.approx(residual.DOUBTED_LEVEL_SD**2)


def test_rows_without_a_label_that_do_not_fit_are_left_out_and_counted(tmp_path: Path) -> None:
    count = write_selected(tmp_path / "loans.csv")
    with (tmp_path / "loans.csv").open("a") as stream:
        stream.write("whatever,whatever,whatever,\n")
    spec = write_spec(tmp_path, is_read=True)
    manifest, told = train(tmp_path, spec)
    assert f"{count} rows without a label are read" in told[0]
    assert told[0].endswith("; 1 more do not fit the spec and are left out")
    assert manifest.measured.data.unlabelled.unusable == 1


@pytest.mark.parametrize(
    ("keep", "message"),
    [
        ("", "repaid: no row has a label"),
        ("1", "rows with the desired label and 0 without, and .* whose label is not given, .* too few to split"),
    ],
)
def test_labels_of_nobody_or_of_one_kind_are_refused_in_a_line(tmp_path: Path, keep: str, message: str) -> None:
    write_loans(tmp_path / "loans.csv")
    head, *rows = (tmp_path / "loans.csv").read_text().splitlines()
    assert head.endswith(",repaid")
    cut = [row.rpartition(",") for row in rows]
    lines = [f"{cells},{label if label == keep else ''}" for cells, _, label in cut]
    (tmp_path / "loans.csv").write_text("\n".join([head, *lines, ""]))
    spec = write_spec(tmp_path, is_read=True)
    with pytest.raises(onward.OnwardError, match=message) as caught:
        onward.train(tmp_path / "loans.csv", spec, tmp_path / "model")
    assert "\n" not in str(caught.value)


def test_labels_that_are_decisions_are_doubted() -> None:
    quality = Quality(1.0, 1.0, 1.0, 0.0, approval_rate=0.6, desired_rate=0.6, held_out_rows=500)
    [line] = selected_in_words(Measured(quality))
    assert "labels that record decisions" in line
    assert not [*selected_in_words(Measured(msgspec.structs.replace(quality, accuracy=0.9)))]


def test_a_draft_reads_rows_without_a_label_where_there_are_many(tmp_path: Path) -> None:
    count = write_selected(tmp_path / "loans.csv")
    drafted = draft_spec(tmp_path / "loans.csv", "repaid")
    assert (drafted.unlabelled, drafted.reads_unlabelled) == (count, True)
    (tmp_path / "loans.yaml").write_text(drafted.text.replace("mutable: none", "mutable: any", 1))
    spec = load_spec(tmp_path / "loans.yaml").spec
    assert spec.label.missing == "unlabelled"
    with (tmp_path / "loans.csv").open(newline="") as stream:
        every = [float(row["income"]) for row in csv.DictReader(stream)]
    [bounds] = [feature.bounds for feature in spec.features if feature.name == "income"]
    assert bounds is not None
    assert bounds[0] <= min(every) <= max(every) <= bounds[1]


def test_reading_such_rows_makes_another_spec(tmp_path: Path) -> None:
    spec = load_spec(write_spec(tmp_path, is_read=False))
    other = load_spec(write_spec(tmp_path, is_read=True))
    assert spec.sha256 != other.sha256

"""A program whose spec was narrowed goes on with models that are trained under the narrower one."""

from __future__ import annotations

from pathlib import Path

import pytest

from onward.streams.cli import main
from onward.streams.errors import ModelError
from onward.streams.programs.assembly import assemble
from onward.streams.programs.spec_check import load_program_spec
from onward.tests.support.loans import reviewed_spec, write_loans


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A program with its first model, and a spec that narrows its incomes."""
    write_loans(tmp_path / "loans.csv")
    (tmp_path / "loans.yaml").write_text(reviewed_spec())
    narrowed = reviewed_spec().replace("bounds: [0, 100]", "bounds: [0, 80]")
    assert narrowed != reviewed_spec()
    (tmp_path / "narrowed.yaml").write_text(narrowed)
    assert trains(tmp_path, "loans.yaml", "model") == 0
    return tmp_path


def trains(folder: Path, spec: str, output: str) -> int:
    data, kind = str(folder / "loans.csv"), ["--estimator", "logistic_regression"]
    return main(["train", data, "--spec", str(folder / spec), "--output", str(folder / output), *kind])


def test_a_model_that_is_trained_under_narrower_bounds_reads_values_as_the_first_one(folder, capsys):
    capsys.readouterr()
    assert trains(folder, "narrowed.yaml", "model-2") == 0
    assert "income is scaled from 0 to 100, as the program's first model was trained with" in capsys.readouterr().err
    program = assemble(load_program_spec(folder / "loans.yaml"))
    narrowed = program.changed(load_program_spec(folder / "narrowed.yaml").spec)
    later = narrowed.load(str(folder / "model-2" / "manifest.json"), None)
    person = narrowed.codec.encode_many([{"income": 50, "debts": 3, "region": "north"}])
    assert later.model.score(person).tolist() == program.bundle.model.score(person).tolist()
    assert narrowed.changed(program.spec).trained_bounds["income"] == (0, 100)


def test_another_program_is_trained_with_its_own_bounds(folder):
    other = (folder / "narrowed.yaml").read_text().replace("program: loans", "program: others")
    (folder / "others.yaml").write_text(other)
    text = (folder / "loans.csv").read_text().splitlines()
    rows = [line for line in text[1:] if float(line.split(",")[text[0].split(",").index("income")]) <= 80]
    (folder / "loans.csv").write_text("\n".join([text[0], *rows]) + "\n")
    assert trains(folder, "others.yaml", "model-3") == 0
    program = assemble(load_program_spec(folder / "loans.yaml"))
    with pytest.raises(ModelError, match="the model was trained with"):
        program.load(str(folder / "model-3" / "manifest.json"), None)

"""A trained program, as Python programs load it."""

from __future__ import annotations

from pathlib import Path

import pytest

import onward
from onward.tests.support.loans import reviewed_spec, write_loans


@pytest.fixture(scope="session")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The data loans.csv, the spec loans.yaml and its model."""
    folder = tmp_path_factory.mktemp("loans")
    write_loans(folder / "loans.csv")
    (folder / "loans.yaml").write_text(reviewed_spec())
    onward.train(folder / "loans.csv", folder / "loans.yaml", folder / "model", estimator="logistic_regression")
    return folder


@pytest.fixture(scope="session")
def program(folder: Path) -> onward.Program:
    return onward.load_program(folder / "loans.yaml")

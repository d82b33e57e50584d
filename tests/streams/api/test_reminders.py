"""What the commands warn of, Python programs and workers are warned of too."""

from __future__ import annotations

import csv
import logging
import random
from pathlib import Path

import pytest

import onward
from onward.streams.cli import main
from onward.streams.errors import UsageError
from onward.streams.kafka.service import _programs
from onward.streams.settings import WorkerSettings
from onward.tests.support.loans import reviewed_spec

LOOKS_PERSONAL = "sex: people may be told to change it, and it looks personal: write `mutable: none, protected: true`"
SEX = "  - {name: sex, type: categorical, categories: [f, m]%s}\n"


def with_sex(folder: Path, fields: str) -> Path:
    """A spec with the feature ``sex``, beside its model."""
    spec = folder / "sex.yaml"
    text = reviewed_spec().replace("features:\n", f"features:\n{SEX % fields}", 1)
    allowed = text.replace("manifest.json}", "manifest.json, may_read: [sex]}")
    spec.write_text(allowed if "protected: true" in fields else text)
    return spec


@pytest.fixture(scope="module")
def trained(folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A program whose people differ in ``sex``, which decides almost alone."""
    own = tmp_path_factory.mktemp("sex")
    with (folder / "loans.csv").open() as given, (own / "sex.csv").open("w", newline="") as stream:
        rows, chance = list(csv.DictReader(given)), random.Random(0)
        writer = csv.DictWriter(stream, [*rows[0], "sex"])
        writer.writeheader()
        for number, row in enumerate(rows):
            # Labels that agree with the model in every row would be warned of, too.
            repaid = int((number % 2 == 1) != (chance.random() < 0.05))
            writer.writerow({**row, "sex": "fm"[number % 2], "repaid": repaid})
    spec = with_sex(own, ", mutable: none, protected: true")
    with pytest.warns(onward.OnwardWarning, match=r"model: the model reads sex, which the spec protects or audits"):
        onward.train(own / "sex.csv", spec, own / "model", estimator="logistic_regression")
    return own


def test_training_and_loading_warn_the_caller_of_a_personal_feature_that_may_be_changed(trained: Path) -> None:
    spec, data = with_sex(trained, ", mutable: any"), trained / "sex.csv"
    for call in (
        lambda: onward.train(data, spec, trained / "another", estimator="logistic_regression"),
        lambda: onward.load_program(spec),
    ):
        with pytest.warns(onward.OnwardWarning, match=rf"^{spec}: {LOOKS_PERSONAL}") as told:
            call()
        assert [one.filename for one in told] == [__file__]


def test_what_the_spec_protects_needs_no_warning(trained: Path) -> None:
    assert onward.load_program(with_sex(trained, ", mutable: none, protected: true")).features[0] == "sex"


def test_a_worker_logs_a_personal_feature_that_may_be_changed(trained: Path, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING):
        _programs(WorkerSettings(brokers="127.0.0.1:1", state_dir=trained, spec=[with_sex(trained, ", mutable: any")]))
    assert LOOKS_PERSONAL in caplog.text


def test_announcing_a_spec_tells_of_a_personal_feature_that_may_be_changed(
    trained: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    spec = with_sex(trained, ", mutable: any")
    # A broker without a port ends the command before anything is announced.
    assert main(["specs", "announce", str(spec), "--brokers", "nowhere"]) == UsageError.exit_code
    assert LOOKS_PERSONAL in capsys.readouterr().err

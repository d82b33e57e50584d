"""The retrains that are trained with a model, and the promises that they measure."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import onward
from onward.schemas.specfile import LoadedSpec
from onward.streams.cli import main
from onward.streams.errors import OnwardError, UsageError
from onward.streams.programs.bundle.manifest import Manifest
from onward.streams.programs.spec_check import load_program_spec
from onward.streams.programs.training.retrains import RETRAINS, SHARE, refitted, wanted_retrains
from onward.streams.programs.training.train import EstimatorName, train
from onward.tests.support.loans import reviewed_spec, write_loans

FOLDERS = iter(range(1000))
FEW = 160
"""Rows where boosted trees are fitted several times, which takes long."""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("retrains")
    write_loans(folder / "loans.csv")
    few = (folder / "loans.csv").read_text().splitlines(keepends=True)[: FEW + 1]
    (folder / "few.csv").write_text("".join(few))
    return folder


def spec(folder: Path, promise: str, model: str = "model") -> Path:
    path = folder / f"spec-{next(FOLDERS)}.yaml"
    text = reviewed_spec().replace("manifest: model/", f"manifest: {model}/")
    path.write_text(f"{text}\npromise: {promise}\n")
    return path


def loaded(folder: Path, promise: str) -> LoadedSpec:
    return load_program_spec(spec(folder, promise))


def trained(
    folder: Path,
    promise: str,
    kind: EstimatorName = "logistic_regression",
    retrains: int | None = 4,
    data: str = "loans.csv",
) -> Path:
    output = folder / f"model-{next(FOLDERS)}"
    train(folder / data, loaded(folder, promise), output, estimator=kind, seed=0, retrains=retrains)
    return output


@pytest.mark.parametrize(
    ("promise", "asked", "wanted"),
    [
        ("{kind: none}", None, 0),
        ("{kind: none}", 6, 6),
        ("{kind: lp}", None, RETRAINS),
        ("{kind: lp, radius: 0.5}", None, 0),
        ("{kind: ellipsoid, radius: 0.5}", None, RETRAINS),
        ("{kind: retrains}", None, RETRAINS),
        ("{kind: retrains}", 2, 2),
    ],
)
def test_as_many_are_fitted_as_the_promise_needs(folder: Path, promise: str, asked: int | None, wanted: int) -> None:
    assert wanted_retrains(loaded(folder, promise).spec, asked) == wanted


@pytest.mark.parametrize(
    ("asked", "says"),
    [
        (5, "--retrains: 5 retrains cannot be divided: .*; give an even number from 2 on, better from 20 on"),
        (1002, "--retrains: 1002 retrains take long and tell no more: give at most 1000"),
        (-2, "--retrains: -2 retrains cannot be divided"),
        (0, "--retrains: the promise lp needs some: give 40, or no flag"),
    ],
)
def test_another_number_is_refused_before_anything_is_fitted(folder: Path, asked: int, says: str) -> None:
    with pytest.raises(UsageError, match=says):
        train(
            folder / "nowhere.csv",
            loaded(folder, "{kind: lp}"),
            folder / "new",
            estimator="mlp",
            seed=0,
            retrains=asked,
        )


def test_a_model_that_cannot_carry_the_promise_is_refused_before_its_retrains_are_fitted(folder: Path) -> None:
    with pytest.raises(UsageError, match=r"`promise: \{kind: lp\}` does not go with the model: .*use `retrains`"):
        train(
            folder / "loans.csv",
            loaded(folder, "{kind: lp}"),
            folder / "new",
            estimator="random_forest",
            seed=0,
            tell=lambda text: pytest.fail(text),
        )


def test_resamples_are_drawn_from_all_rows_and_smaller_than_the_training_half() -> None:
    class Recorder:
        def __init__(self) -> None:
            self.rows = np.empty(0)

        def get_params(self, deep: bool = True) -> dict[str, int]:
            return {}

        def set_params(self, **_: int) -> Recorder:
            return self

        def fit(self, X: np.ndarray, _: np.ndarray) -> Recorder:
            self.rows = X[:, 0]
            return self

    X, labels = np.arange(90.0)[:, np.newaxis], np.arange(90) % 2
    fits = refitted(Recorder(), X, labels, round(SHARE * 45), np.random.RandomState(0))
    first, second = next(fits).rows, next(fits).rows
    assert len(first) == len(second) == 30
    assert set(first) != set(second)
    assert max(first) > 45 > min(first)


@pytest.mark.usefixtures("networks_are_short")
def test_the_same_data_and_seed_give_the_same_bytes(folder: Path) -> None:
    for kind in ("logistic_regression", "mlp", "gradient_boosting"):
        one, two = (trained(folder, "{kind: none}", kind, retrains=2, data="few.csv") for _ in range(2))
        assert (one / "retrains.npz").read_bytes() == (two / "retrains.npz").read_bytes()


def test_retrains_change_nothing_else_of_a_model_but_its_version(folder: Path) -> None:
    promise = "{kind: lp, radius: 0.1}"
    file = spec(folder, promise)
    plain, more = folder / "plain", folder / "more"
    manifests = [
        onward.train(folder / "loans.csv", file, output, estimator="logistic_regression", retrains=count)
        for output, count in ((plain, 0), (more, 6))
    ]
    assert manifests[0].measured == manifests[1].measured
    assert manifests[0].version != manifests[1].version
    assert not (plain / "retrains.npz").exists()
    assert (plain / "instances.csv").read_bytes() == (more / "instances.csv").read_bytes()


PEOPLE = [{"income": 55, "debts": 6, "region": "north"}, {"income": 40, "debts": 3, "region": "south"}]


@pytest.mark.parametrize(
    ("kind", "promise", "numbers"),
    [
        ("logistic_regression", "{kind: lp, quantile: 0.5}", {"radius", "margin", "alpha_max"}),
        ("logistic_regression", "{kind: lp, norm: inf, radius: 0.05}", {"radius", "margin", "alpha_max"}),
        ("logistic_regression", "{kind: ellipsoid}", {"radius", "margin", "alpha_max"}),
        ("gradient_boosting", "{kind: retrains}", {"share", "bound", "models_of_other_rows"}),
    ],
)
def test_a_program_with_a_promise_is_trained_and_suggests_options_that_tell_it(
    folder: Path, kind: str, promise: str, numbers: set[str]
) -> None:
    name = f"program-{next(FOLDERS)}"
    file = spec(folder, promise, name)
    data = folder / ("few.csv" if kind == "gradient_boosting" else "loans.csv")
    manifest = onward.train(data, file, folder / name, estimator=kind, retrains=2)
    answers = onward.load_program(file).suggest(PEOPLE)
    options = [option for answer in answers if isinstance(answer, onward.Recourse) for option in answer.options]
    assert options
    for option in options:
        assert option.promise is not None
        assert option.promise.keys() == numbers
        if "radius" in numbers:
            assert option.promise["alpha_max"] > option.promise["radius"] == manifest.measured.promise.means["radius"]
        else:
            assert 0.0 <= option.promise["bound"] < option.promise["share"] < 1.0
    assert manifest.measured.promise.means.keys() == numbers
    assert manifest.measured.served.without_option >= manifest.measured.served.at_threshold


def test_a_model_without_the_retrains_that_its_promise_needs_is_refused(folder: Path) -> None:
    name = f"program-{next(FOLDERS)}"
    output = folder / name
    onward.train(folder / "loans.csv", spec(folder, "{kind: none}"), output, estimator="logistic_regression")
    with pytest.raises(OnwardError, match=r"has no retrains, which the promise lp needs: train a new one"):
        onward.load_program(spec(folder, "{kind: lp}", name))


def printed(folder: Path, promise: str, kind: str, capsys: pytest.CaptureFixture[str]) -> tuple[str, str]:
    output = folder / f"printed-{next(FOLDERS)}"
    flags = ["--spec", str(spec(folder, promise)), "--output", str(output), "--estimator", kind, "--retrains", "8"]
    assert main(["train", str(folder / "loans.csv"), *flags]) == 0
    out, err = capsys.readouterr()
    return out, err


def test_the_command_tells_what_was_measured(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out, err = printed(folder, "{kind: lp}", "logistic_regression", capsys)
    assert err.startswith("fitting 8 more models on resamples of the data, to measure the promise\n")
    assert "\nsuspicious: " in err
    assert "promise: lp with the radius " in out
    assert ", which 95% of models of resamples of the data stay within\n" in out
    assert "promise radius" not in out
    out, err = printed(folder, "{kind: retrains}", "logistic_regression", capsys)
    assert "measured the promise on rows kept aside: 8 of 8 splits\n" in err
    assert "promise: retrains; of models trained on other rows of the same population about " in out
    assert " (80 such models were asked)\n" in out
    assert "a plain `policy.margin: " in out
    out, err = printed(folder, "{kind: lp, radius: 60}", "logistic_regression", capsys)
    assert "promise: lp with the radius 60\n" in out
    assert "have no option (0.0% without the promise)" in out
    assert "nobody is served; to serve more people: a smaller `promise.radius` than 60, " in err


def test_the_manifest_names_the_file(folder: Path) -> None:
    output = folder / "named"
    manifest = train(
        folder / "loans.csv",
        loaded(folder, "{kind: none}"),
        output,
        estimator="logistic_regression",
        seed=0,
        retrains=2,
    )
    assert isinstance(manifest, Manifest)
    assert manifest.retrains.file == "retrains.npz"  # type: ignore[union-attr]

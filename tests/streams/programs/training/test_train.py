import csv
import json
from dataclasses import replace
from pathlib import Path

import msgspec
import numpy as np
import pytest

from onward.environments.population import SPEC, Population
from onward.schemas.encoding import FeatureCodec
from onward.schemas.spec import Instances
from onward.schemas.specfile import SpecError, load_spec
from onward.schemas.table import TableError
from onward.streams.cli import train as train_command
from onward.streams.errors import UsageError
from onward.streams.programs.bundle.loader import load_bundle
from onward.streams.programs.bundle.manifest import MANIFEST
from onward.streams.programs.bundle.writer import copy_for_program
from onward.streams.programs.training.train import ESTIMATORS, fit_model, train
from onward.tests.support.packaged_specs import text_alone

PLAIN = msgspec.structs.replace(load_spec(SPEC).spec.policy, margin=0.0, generator="adapted", objective="cost")
"""Measuring a margin takes 20 more models and a prior 18; test_margin.py and test_improvement.py do."""
LOADED = replace(load_spec(SPEC), spec=msgspec.structs.replace(load_spec(SPEC).spec, policy=PLAIN))
CODEC = FeatureCodec(LOADED.spec)


@pytest.fixture(scope="module")
def data(tmp_path_factory) -> Path:
    table = Population(seed=1).table(LOADED.spec, 1200)
    file = tmp_path_factory.mktemp("data") / "loans.csv"
    with file.open("w", newline="") as stream:
        writer = csv.DictWriter(stream, [*table.rows[0], "repaid"])
        writer.writeheader()
        writer.writerows({**row, "repaid": label} for row, label in zip(table.rows, table.labels, strict=True))
    return file


@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_a_trained_model_is_better_than_guessing_and_accepts_its_instances(data, tmp_path, estimator):
    """Half of the rows train it, a quarter is held out, and of the last quarter are its instances."""
    manifest = train(data, LOADED, tmp_path / "model", estimator=estimator, seed=0)
    quality = manifest.measured.quality
    assert (quality.training_rows, quality.held_out_rows) == (600, 300)
    assert manifest.measured.data.instances <= 300
    assert quality.roc_auc > 0.7
    assert quality.accuracy > quality.desired_rate
    bundle = load_bundle(str(tmp_path / "model" / MANIFEST), sha256=None, columns=CODEC.columns)
    assert 0 < len(bundle.instances) <= LOADED.spec.candidates
    assert (bundle.model.score(CODEC.encode_many(bundle.instances)) > LOADED.spec.model.threshold).all()
    assert bundle.baseline == manifest.baseline
    assert bundle.model.score(CODEC.encode_many([manifest.baseline])) > LOADED.spec.model.threshold


@pytest.mark.parametrize("estimator", ["logistic_regression", "gradient_boosting"])
def test_a_calibrated_model_keeps_the_order_of_people_and_says_probabilities(data, tmp_path, estimator):
    plain = train(data, LOADED, tmp_path / "plain", estimator=estimator, seed=0)
    manifest = train(data, LOADED, tmp_path / "model", estimator=estimator, seed=0, calibrate=True)
    assert manifest.version.startswith(f"calibrated-{estimator.replace('_', '-')}-")
    calibrated, bare = manifest.measured.quality, plain.measured.quality
    assert calibrated.roc_auc == pytest.approx(bare.roc_auc, abs=1e-9)
    assert calibrated.brier_score < bare.brier_score + 0.005
    bundle = load_bundle(str(tmp_path / "model" / MANIFEST), sha256=None, columns=CODEC.columns)
    assert (bundle.model.score(CODEC.encode_many(bundle.instances)) > LOADED.spec.model.threshold).all()


def test_no_row_measures_what_it_has_taught(data):
    asked = {"calibrate": False, "retrains": 0, "dates": None, "tell": print}
    split = fit_model(data, LOADED, "logistic_regression", 0, **asked).split
    population, helping, held_out, recourse, unseen, judged = map(set, split)
    assert not helping & held_out
    assert not population & unseen
    assert not population & recourse
    assert judged <= unseen
    assert len(population | unseen) == 1200


def test_a_network_cannot_be_calibrated(data, tmp_path):
    with pytest.raises(UsageError, match="--calibrate: mlp cannot be calibrated; leave the flag out"):
        train(data, LOADED, tmp_path / "model", estimator="mlp", seed=0, calibrate=True)


def test_a_bundle_holds_what_its_policy_needs_and_no_more(data, tmp_path):
    instances = msgspec.structs.replace(LOADED.spec.policy, generator="instances", objective="improvement")
    spec = msgspec.structs.replace(LOADED.spec, policy=instances, instances=Instances(publish=True))
    train(data, replace(LOADED, spec=spec), tmp_path / "model", estimator="logistic_regression", seed=0)
    files = sorted(file.name for file in (tmp_path / "model").iterdir())
    assert files == ["improvement.npz", "instances.csv", MANIFEST, "model.skops", "population.json"]


def test_a_bundle_with_a_verifier_of_an_older_version_is_loaded(data, tmp_path):
    train(data, LOADED, tmp_path / "model", estimator="logistic_regression", seed=0)
    address = tmp_path / "model" / MANIFEST
    manifest = json.loads(address.read_text())
    verifier = {"file": "verifier.npz", "size": 8, "sha256": "0" * 64, "tolerance": 0.2}
    address.write_text(json.dumps({**manifest, "verifier": verifier}))
    load_bundle(str(address), sha256=None, columns=CODEC.columns)
    copy_for_program(address.parent, tmp_path / "copy", "other")
    assert json.loads((tmp_path / "copy" / MANIFEST).read_text())["verifier"] == verifier


@pytest.mark.usefixtures("networks_are_short")
def test_the_same_seed_gives_the_same_scores_and_version_and_another_seed_another(data, tmp_path):
    versions, scores = zip(
        *(trained(data, tmp_path / str(number), seed) for number, seed in enumerate((4, 4, 5))), strict=True
    )
    assert versions[0] == versions[1] != versions[2]
    assert scores[0] == scores[1] != scores[2]


def trained(data: Path, folder: Path, seed: int) -> tuple[str, bytes]:
    manifest = train(data, LOADED, folder, estimator="mlp", seed=seed)
    bundle = load_bundle(str(folder / MANIFEST), sha256=None, columns=CODEC.columns)
    rows = np.random.default_rng(0).random((50, CODEC.dimension))
    return manifest.version, bundle.model.score(rows).tobytes()


def test_too_few_rows_of_one_label_are_a_usage_error(data, tmp_path):
    lines = data.read_text().splitlines()
    good = [line for line in lines[1:] if line.endswith(",1")]
    few = tmp_path / "few.csv"
    few.write_text("\n".join([lines[0], *good[:20], good[0].removesuffix("1") + "0"]))
    with pytest.raises(UsageError, match=r"few\.csv: 20 rows with the desired label and 1 without: too few"):
        train(few, LOADED, tmp_path / "model", estimator="random_forest", seed=0)


def test_a_threshold_nobody_reaches_is_a_usage_error(data, tmp_path):
    strict = tmp_path / "strict.yaml"
    strict.write_text(text_alone(SPEC).replace("manifest.json,", "manifest.json, threshold: 0.9999,"))
    with pytest.raises(UsageError, match=r"accepts none of the 300 rows .* lower model\.threshold \(0\.9999\)"):
        train(data, load_spec(strict), tmp_path / "model", estimator="logistic_regression", seed=0)


def test_instances_that_break_a_constraint_are_left_out(data, tmp_path):
    narrow = tmp_path / "narrow.yaml"
    rule = "  rules:\n    - {if: {feature: savings, at_least: 0}, then: {feature: savings, at_least: 5000}}\nlabel:"
    narrow.write_text(text_alone(SPEC).replace("label:", rule) + "policy: {generator: adapted}\n")
    train(data, load_spec(narrow), tmp_path / "model", estimator="logistic_regression", seed=0)
    bundle = load_bundle(str(tmp_path / "model" / MANIFEST), sha256=None, columns=CODEC.columns)
    assert min(row["savings"] for row in bundle.instances) >= 5000


def test_the_command_prints_the_metrics_and_the_manifest(data, tmp_path, capsys):
    flags = ["--spec", str(SPEC), "--output", str(tmp_path / "model"), "--estimator", "logistic_regression"]
    assert train_command.run([str(data), *flags]) == 0
    printed = capsys.readouterr().out
    assert "personal-loan: model logistic-regression-" in printed
    assert "roc auc" in printed
    assert f"manifest: {tmp_path / 'model' / MANIFEST}\n" in printed


@pytest.mark.parametrize(
    ("csv", "spec", "estimator", "error", "says"),
    [
        ("loans.csv", SPEC, "oracle", UsageError, "--estimator: input should be 'random_forest', "),
        ("loans.csv", "nowhere.yaml", "mlp", SpecError, "nowhere.yaml: cannot be read"),
        ("nowhere.csv", SPEC, "mlp", TableError, "nowhere.csv: cannot be read"),
    ],
)
def test_the_command_explains_wrong_arguments(data, tmp_path, csv, spec, estimator, error, says):
    flags = ["--spec", str(spec), "--output", str(tmp_path / "model"), "--estimator", estimator]
    with pytest.raises(error, match=says):
        train_command.run([str(data.with_name(csv)), *flags])

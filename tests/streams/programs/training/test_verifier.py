"""The verifier of TAP: fitted with the model, kept in its bundle, used by the learner."""

from __future__ import annotations

import csv
from dataclasses import replace

import msgspec
import numpy as np
import pytest
from sklearn.ensemble import RandomForestClassifier

from onward.environments.improvement import ImprovementWorld
from onward.environments.population import SPEC, Population
from onward.schemas.specfile import load_spec
from onward.streams.cli.world.program_folders import write_programs
from onward.streams.errors import UsageError
from onward.streams.programs.bundle.loader import load_bundle
from onward.streams.programs.bundle.manifest import MANIFEST
from onward.streams.programs.program import assemble
from onward.streams.programs.training import verifier as verifier_training
from onward.streams.programs.training.train import train
from onward.streams.programs.training.verifier import PAIRS, TRUSTED_SHARE, fit_verifier

LOADED = load_spec(SPEC)


def people(count: int = 400) -> tuple[np.ndarray, np.ndarray]:
    generator = np.random.default_rng(0)
    X = generator.random((count, 3))
    return X, (X[:, 0] + 0.2 * generator.standard_normal(count) > 0.5).astype(int)


def test_the_verifier_separates_equal_from_different_labels_and_trusts_a_fixed_share_of_the_latter() -> None:
    X, labels = people()
    model = RandomForestClassifier(20, random_state=0).fit(X, labels)
    verifier = fit_verifier(model, X, labels, np.random.RandomState(0))
    random = np.random.RandomState(0)
    left, right = random.choice(len(X), PAIRS), random.choice(len(X), PAIRS)
    agreement = verifier.estimator.predict_proba(np.concatenate([X[left], X[right]], axis=1))[:, 1]
    same = labels[left] == labels[right]
    assert agreement[same].mean() > 0.8 > 0.2 > agreement[~same].mean()
    one, other = (model.predict_proba(X[side])[:, 1] for side in (left, right))
    doubt = np.abs(agreement - (one * other + (1 - one) * (1 - other)))
    assert (doubt[~same] < verifier.tolerance - 1e-9).mean() <= TRUSTED_SHARE + 1e-3
    assert (doubt[~same] <= verifier.tolerance + 1e-9).mean() >= TRUSTED_SHARE - 1e-3


def test_people_of_one_label_cannot_be_fitted() -> None:
    X, _ = people()
    with pytest.raises(ValueError, match="same label"):
        fit_verifier(RandomForestClassifier(5), X, np.ones(len(X), dtype=int), np.random.RandomState(0))


@pytest.fixture(scope="module")
def table():
    return Population(seed=1).table(LOADED.spec, 800)


def with_choice(choice: str, folder):
    """The packaged program under another policy, its model to be in ``folder``."""
    policy = msgspec.structs.replace(LOADED.spec.policy, choice=choice, parameters={}, generator="instances")
    model = msgspec.structs.replace(LOADED.spec.model, manifest=str(folder / MANIFEST))
    return replace(LOADED, spec=msgspec.structs.replace(LOADED.spec, policy=policy, model=model))


def written(table, folder):
    file = folder / "loans.csv"
    with file.open("w", newline="") as stream:
        writer = csv.DictWriter(stream, [*table.rows[0], "repaid"])
        writer.writeheader()
        writer.writerows({**row, "repaid": label} for row, label in zip(table.rows, table.labels, strict=True))
    return file


def test_training_for_tap_writes_a_verifier_that_its_learner_uses(table, tmp_path) -> None:
    folder = tmp_path / "model"
    loaded = with_choice("tap", folder)
    train(written(table, tmp_path), loaded, folder, estimator="logistic_regression", seed=0)
    bundle = load_bundle(str(folder / MANIFEST), sha256=None, columns=assemble(loaded).codec.columns)
    assert bundle.verifier is not None
    program = assemble(loaded)
    verifier = program.bundle.artefact("verifier")
    disagreement = verifier.disagreement(program.points[0], program.points, bundle.model.score(program.points))
    assert disagreement.shape == (len(program.points),)
    assert ((disagreement >= 0) & (disagreement <= 1)).all()
    assert verifier.tolerance == bundle.verifier.tolerance


def test_other_choices_have_no_verifier_and_tap_refuses_a_model_without_one(table, tmp_path) -> None:
    folder = tmp_path / "model"
    train(written(table, tmp_path), with_choice("linucb", folder), folder, estimator="logistic_regression", seed=0)
    assert sorted(file.name for file in folder.iterdir()) == [
        "improvement.npz",
        "instances.csv",
        "manifest.json",
        "model.skops",
        "population.json",
    ]
    with pytest.raises(UsageError, match="has no verifier, which tap needs"):
        assemble(with_choice("tap", folder))


def test_a_world_with_its_training_rows_can_be_served_with_tap(tmp_path, monkeypatch) -> None:
    monkeypatch.setattr(verifier_training, "PAIRS", 500)
    world = ImprovementWorld.from_table(Population(seed=0).table(LOADED.spec, 600), LOADED.spec, seed=0, people=20)
    specs = write_programs("loan", world, tmp_path, ["tap"])
    assert assemble(load_spec(specs["loan-tap"])).bundle.artefact("verifier") is not None
    world.training = None
    with pytest.raises(UsageError, match="tap needs the rows"):
        write_programs("again", world, tmp_path, ["tap"])

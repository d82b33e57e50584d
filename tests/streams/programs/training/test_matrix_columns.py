"""Whether a matrix is raw or encoded is found out, and what cannot be found out is asked."""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd
import pytest
from skl2onnx import to_onnx
from skl2onnx.common.data_types import BooleanTensorType, FloatTensorType, StringTensorType
from sklearn.compose import ColumnTransformer
from sklearn.ensemble import GradientBoostingClassifier, RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from onward.schemas.encoding import FeatureCodec
from onward.schemas.table import read_table
from onward.streams.cli import main
from onward.streams.errors import ModelError
from onward.streams.programs.assembly import assemble
from onward.streams.programs.bundle.loader import load_bundle
from onward.streams.programs.bundle.manifest import MANIFEST
from onward.streams.programs.spec_check import load_program_spec
from onward.streams.programs.training.importing import import_model

SPEC = """program: people
features:
  - {name: income, type: integer, bounds: [900, 6000], step: 50, mutable: up}
  - {name: debts, type: continuous, bounds: [0, 0.9], step: 0.01, mutable: down}
  - {name: owner, type: integer, bounds: [0, 1], mutable: up}
  - {name: region, type: categorical, categories: [north, south], mutable: none}
label: {name: repaid}
model: {manifest: model/manifest.json}
policy: {generator: search, choice: protoar, objective: cost, margin: 0.0, options: 3}
"""
NUMBERS = ["income", "debts", "owner"]


def people(count=600, seed=0) -> pd.DataFrame:
    random = np.random.default_rng(seed)
    rows = pd.DataFrame(
        {
            "income": (random.integers(90, 600, count) * 10),
            "debts": random.integers(0, 91, count) / 100.0,
            "owner": random.integers(0, 2, count),
            "region": random.choice(["north", "south"], count),
        }
    )
    odds = rows["income"] / 900.0 - 3.0 - 4.0 * rows["debts"] + rows["owner"] + 0.3 * (rows["region"] == "north")
    return rows.assign(repaid=(random.random(count) < 1.0 / (1.0 + np.exp(-odds))).astype(int))


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "all.yaml").write_text(SPEC)
    numbers = "\n".join(line for line in SPEC.splitlines() if "region" not in line)
    (tmp_path / "numbers.yaml").write_text(numbers)
    people(seed=1).to_csv(tmp_path / "all.csv", index=False)
    people(seed=1).drop(columns="region").to_csv(tmp_path / "numbers.csv", index=False)
    return tmp_path


def exported(model, rows, **options) -> bytes:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return to_onnx(model, rows, options={"zipmap": False}, **options).SerializeToString()


def imported(folder, content, spec="numbers", columns=None):
    """The manifest, the model as it is loaded again, the encoded people, and the lines that were told."""
    (folder / "x.onnx").write_bytes(content)
    loaded, told = load_program_spec(folder / f"{spec}.yaml"), []
    manifest = import_model(
        folder / "x.onnx",
        folder / f"{spec}.csv",
        loaded,
        folder / "model",
        seed=0,
        columns=columns,
        tell=told.append,
    )
    codec = FeatureCodec(loaded.spec)
    bundle = load_bundle(str(folder / "model" / MANIFEST), sha256=None, columns=codec.columns, codec=codec)
    return manifest, bundle.model, read_table(folder / f"{spec}.csv", loaded.spec).X, told


def raw(rows: pd.DataFrame) -> np.ndarray:
    """A matrix as libraries take it: numbers, then a column a category."""
    return pd.get_dummies(rows.drop(columns="repaid")).to_numpy(np.float32)


@pytest.mark.parametrize("spec", ["numbers", "all"])
def test_splits_beyond_the_encoded_range_prove_raw_columns(folder, spec):
    fitted, rest = (rows if spec == "all" else rows.drop(columns="region") for rows in (people(), people(seed=1)))
    booster = GradientBoostingClassifier(n_estimators=30).fit(raw(fitted), fitted["repaid"])
    with pytest.raises(ModelError, match=r"go from .* beyond 0 to 1"):
        imported(folder, exported(booster, raw(fitted)[:1]), spec, "encoded")
    manifest, model, X, told = imported(folder, exported(booster, raw(fitted)[:1]), spec)
    np.testing.assert_array_equal(model.score(X) > 0.5, booster.predict_proba(raw(rest))[:, 1] > 0.5)
    assert manifest.model.file == "model.npz"
    names = "income,debts,owner" + (",region:north,region:south" if spec == "all" else "")
    assert told == [
        f"{folder / 'x.onnx'}: its matrix holds raw columns ({names}): nothing else fits their number, type and splits"
    ]


@pytest.mark.parametrize("kind", ["raw", "encoded"])
def test_labels_tell_where_nothing_proves_it_and_a_worker_reads_it_alike(folder, kind):
    fitted, rest = people(), people(seed=1)
    codec = FeatureCodec(load_program_spec(folder / "all.yaml").spec)

    def rows_of(rows: pd.DataFrame) -> np.ndarray:
        if kind == "raw":
            return raw(rows)
        return codec.encode_many(rows.drop(columns="repaid").to_dict("records")).astype(np.float32)

    pipeline = make_pipeline(StandardScaler(), LogisticRegression()).fit(rows_of(fitted), fitted["repaid"])
    manifest, model, X, told = imported(folder, exported(pipeline, rows_of(fitted)[:1]), "all")
    np.testing.assert_allclose(model.score(X), pipeline.predict_proba(rows_of(rest))[:, 1], rtol=0, atol=1e-5)
    assert f"its matrix holds {kind} columns" in told[0]
    assert "the labels say so" in told[0]
    assert (manifest.onnx.matrix.raw if kind == "raw" else not manifest.onnx.matrix) is True


def test_where_nothing_tells_it_the_flag_does(folder):
    """Only ``owner`` counts, which is the same raw and encoded."""
    fitted = people()
    matrix = raw(fitted.drop(columns="region"))
    stump = LogisticRegression().fit(matrix * [0, 0, 1], fitted["repaid"])
    content = exported(stump, matrix[:1])
    with pytest.raises(ModelError, match=r"the rows do not tell it .*: say it with --columns raw or"):
        imported(folder, content)
    (folder / "x.onnx").write_bytes(content)
    line = ["models", "import", str(folder / "x.onnx"), "--spec", str(folder / "numbers.yaml"), "--columns", "raw"]
    assert main([*line, "--data", str(folder / "numbers.csv"), "--output", str(folder / "model")]) == 0


def test_raw_texts_have_no_number_and_raw_whole_numbers_may_be_integers(folder):
    fitted = people()
    matrix = fitted[NUMBERS].to_numpy(np.float32)
    booster = GradientBoostingClassifier(n_estimators=3).fit(
        np.c_[matrix, fitted["region"] == "north"], fitted["repaid"]
    )
    with pytest.raises(
        ModelError, match=r"not \(n, 5\): .* \(region has texts, of which a raw matrix holds a column each"
    ):
        imported(folder, exported(booster, np.c_[matrix, matrix[:, 0]].astype(np.float32)[:1]), "all")
    text = "\n".join(line for line in SPEC.splitlines() if "region" not in line and "debts" not in line)
    (folder / "whole.yaml").write_text(text)
    people(seed=1)[["income", "owner", "repaid"]].to_csv(folder / "whole.csv", index=False)
    numbers = fitted[["income", "owner"]].to_numpy(np.int64)
    forest = RandomForestClassifier(n_estimators=10, max_depth=4, random_state=0).fit(numbers, fitted["repaid"])
    _, model, X, _ = imported(folder, exported(forest, numbers[:1]), "whole")
    rest = people(seed=1)[["income", "owner"]].to_numpy(np.int64)
    np.testing.assert_array_equal(model.score(X) > 0.5, forest.predict_proba(rest)[:, 1] > 0.5)


def test_categories_may_stand_behind_all_numbers_and_the_labels_tell_it(folder):
    """In the spec they stand first, and splits from 0 to 1 go with both orders."""
    lines = [line for line in SPEC.splitlines() if "income" not in line]
    region = next(line for line in lines if "region" in line)
    (folder / "all.yaml").write_text("\n".join([*lines[:2], region, *(line for line in lines[2:] if line != region)]))
    fitted, rest = people().drop(columns="income"), people(seed=1).drop(columns="income")
    rest.to_csv(folder / "all.csv", index=False)
    booster = GradientBoostingClassifier(n_estimators=30, random_state=0).fit(raw(fitted), fitted["repaid"])
    _, model, X, told = imported(folder, exported(booster, raw(fitted)[:1]), "all")
    np.testing.assert_array_equal(model.score(X) > 0.5, booster.predict_proba(raw(rest))[:, 1] > 0.5)
    assert "raw columns (debts,owner,region:north,region:south): the labels say so" in told[0]


def test_categories_in_another_order_are_taken_by_their_names_where_the_labels_do_not_tell_it(folder):
    (folder / "all.yaml").write_text(SPEC.replace("[north, south]", "[south, north]"))
    fitted, rest = people(), people(seed=1)
    booster = GradientBoostingClassifier(n_estimators=30, random_state=0).fit(raw(fitted), fitted["repaid"])
    content = exported(booster, raw(fitted)[:1])
    with pytest.raises(ModelError, match=r"the rows do not tell it \(as .* with --columns and their names"):
        imported(folder, content, "all")
    names = (*NUMBERS, "region:north", "region:south")
    with pytest.raises(ModelError, match="its matrix has a column sex, which the spec does not have"):
        imported(folder, content, "all", (*names[:-1], "sex"))
    _, model, X, _ = imported(folder, content, "all", names)
    np.testing.assert_array_equal(model.score(X) > 0.5, booster.predict_proba(raw(rest))[:, 1] > 0.5)


def test_a_matrix_may_leave_out_what_the_model_may_not_read(folder):
    protected = SPEC.replace("name: owner,", "name: owner, protected: true,").replace(
        ", mutable: up}\n  - {name: reg", ", mutable: none}\n  - {name: reg"
    )
    (folder / "barred.yaml").write_text("\n".join(line for line in protected.splitlines() if "region" not in line))
    people(seed=1).drop(columns="region").to_csv(folder / "barred.csv", index=False)
    fitted, rest = (rows[["income", "debts"]].to_numpy(np.float32) for rows in (people(), people(seed=1)))
    booster = GradientBoostingClassifier(n_estimators=20).fit(fitted, people()["repaid"])
    _, model, X, told = imported(folder, exported(booster, fitted[:1]), "barred")
    np.testing.assert_array_equal(model.score(X) > 0.5, booster.predict_proba(rest)[:, 1] > 0.5)
    assert "raw columns (income,debts)" in told[0]


@pytest.mark.parametrize("trees", [20, 60])
@pytest.mark.parametrize("named", [True, False])
def test_a_tie_is_a_rejection_as_for_the_sender_and_no_option_lies_on_one(folder, trees, named):
    fitted, rest = people(), people(seed=1)
    if named:
        columns = [("turned", "passthrough", ["owner", "income", "debts"])]
        forest = make_pipeline(ColumnTransformer(columns), RandomForestClassifier(trees, random_state=0))

        def rows_of(rows: pd.DataFrame) -> pd.DataFrame | np.ndarray:
            return rows[NUMBERS].astype("float32")

        types = [(name, FloatTensorType([None, 1])) for name in NUMBERS]
        content = exported(forest.fit(rows_of(fitted), fitted["repaid"]), None, initial_types=types)
    else:

        def rows_of(rows: pd.DataFrame) -> pd.DataFrame | np.ndarray:
            return rows[NUMBERS].to_numpy(np.float32)

        forest = RandomForestClassifier(trees, random_state=0).fit(rows_of(fitted), fitted["repaid"])
        content = exported(forest, rows_of(fitted)[:1])
    _, model, X, _ = imported(folder, content)
    own = forest.predict_proba(rows_of(rest))[:, 1]
    assert (own == 0.5).sum() >= 3
    np.testing.assert_array_equal(model.score(X) > 0.5, own > 0.5)
    assert model.score(X).max() <= 1.0
    program = assemble(load_program_spec(folder / "numbers.yaml"))
    rejected = X[~program.approves(model.score(X))][:150]
    targets = program.generator_under(program.bundle).propose(rejected).points
    codes = pd.DataFrame(program.codec.codes(targets), columns=NUMBERS)
    assert len(codes) > 50
    assert (forest.predict_proba(rows_of(codes))[:, 1] > 0.5).all()


def test_strings_and_truth_values_are_inputs_of_features(folder):
    (folder / "flags.yaml").write_text(
        SPEC.replace(
            "{name: owner, type: integer, bounds: [0, 1], mutable: up}",
            '{name: owner, type: categorical, categories: ["False", "True"], mutable: any}',
        )
    )
    rest = people(seed=1)
    rest.assign(owner=rest["owner"].astype(bool)).to_csv(folder / "flags.csv", index=False)
    numbers, texts = ("numbers", StandardScaler(), ["income", "debts"]), ("texts", OneHotEncoder(), ["region"])
    columns = [numbers, ("flag", "passthrough", ["owner"]), texts]
    pipeline = make_pipeline(ColumnTransformer(columns), LogisticRegression())
    pipeline.fit(people(), people()["repaid"])
    kinds = [FloatTensorType, FloatTensorType, BooleanTensorType, StringTensorType]
    types = [(name, kind([None, 1])) for name, kind in zip([*NUMBERS, "region"], kinds, strict=True)]
    for spec in ("all", "flags"):
        content = exported(pipeline, None, initial_types=types)
        _, model, X, told = imported(folder, content, spec)
        np.testing.assert_allclose(model.score(X), pipeline.predict_proba(rest)[:, 1], rtol=0, atol=1e-5)
        assert told == []
        (folder / "model").rename(folder / f"model-{spec}")


def test_only_classes_that_are_exchanged_are_called_so(folder):
    fitted = people()
    matrix = raw(fitted.drop(columns="region"))
    turned = GradientBoostingClassifier(n_estimators=20).fit(matrix, 1 - fitted["repaid"])
    with pytest.raises(ModelError, match="the other way round; fit it with the desired outcome as class 1"):
        imported(folder, exported(turned, matrix[:1]))
    labels, rest = people(seed=1)["repaid"], raw(people(seed=1).drop(columns="region"))
    for seed in range(20):
        by_chance = np.random.default_rng(seed).integers(0, 2, len(matrix))
        chance = GradientBoostingClassifier(n_estimators=3, max_depth=2).fit(matrix, by_chance)
        scores = chance.predict_proba(rest)[:, 1]
        if -0.02 < scores[labels == 1].mean() - scores[labels == 0].mean() < 0 and roc_auc_score(labels, scores) > 0.46:
            break
    with pytest.raises(ModelError, match="orders them as chance does") as refused:
        imported(folder, exported(chance, matrix[:1]))
    assert "other way round" not in str(refused.value)

"""A classifier in ONNX becomes the model of a program, or is refused in one line."""

from __future__ import annotations

import csv
import json
import sys
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from onnx import TensorProto, external_data_helper, helper, numpy_helper
from skl2onnx import convert_sklearn, to_onnx
from skl2onnx.common.data_types import FloatTensorType, Int64TensorType, StringTensorType
from sklearn.compose import ColumnTransformer
from sklearn.ensemble import GradientBoostingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from onward.schemas.encoding import FeatureCodec
from onward.schemas.table import read_table
from onward.streams.cli import main
from onward.streams.errors import ModelError, UsageError
from onward.streams.programs.bundle.loader import load_bundle
from onward.streams.programs.bundle.manifest import MANIFEST
from onward.streams.programs.models.row_independence import keeps_rows_apart
from onward.streams.programs.onnx import model as onnx_model
from onward.streams.programs.spec_check import load_program_spec
from onward.streams.programs.training import importing
from onward.streams.programs.training.importing import import_model
from onward.tests.support.loans import write_loans

SPEC = """program: loans
features:
  - {name: income, type: integer, bounds: [10, 100]}
  - {name: debts, type: integer, bounds: [0, 9], mutable: down}
  - {name: region, type: categorical, categories: [north, south], mutable: none}
label: {name: repaid}
model: {manifest: model/manifest.json}
policy: {generator: search, choice: protoar, options: 3, margin: MARGIN}
"""
TYPES = {
    "income": FloatTensorType([None, 1]),
    "debts": Int64TensorType([None, 1]),
    "region": StringTensorType([None, 1]),
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("import")
    write_loans(folder / "loans.csv")
    (folder / "loans.yaml").write_text(SPEC.replace("MARGIN", "0.1"))
    return folder


@pytest.fixture(scope="module")
def pipeline(folder):
    """A fitted pipeline with its own encoding, and the people."""
    people = pd.read_csv(folder / "loans.csv")
    columns = [("numbers", StandardScaler(), ["income", "debts"]), ("texts", OneHotEncoder(), ["region"])]
    return make_pipeline(ColumnTransformer(columns), LogisticRegression()).fit(people, people["repaid"]), people


def exported(pipeline, **options) -> bytes:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return convert_sklearn(pipeline, initial_types=list(TYPES.items()), **options).SerializeToString()


def import_bytes(folder: Path, output: Path, content: bytes, spec: str = "loans.yaml", data: str = "loans.csv"):
    output.mkdir()
    (output / "x.onnx").write_bytes(content)
    loaded = load_program_spec(folder / spec)
    manifest = import_model(output / "x.onnx", folder / data, loaded, output / "model", seed=0)
    codec = FeatureCodec(loaded.spec)
    address = str(output / "model" / MANIFEST)
    return manifest, load_bundle(address, sha256=None, columns=codec.columns, codec=codec)


@pytest.mark.parametrize("options", [{}, {"options": {"zipmap": False}}])
def test_a_pipeline_with_its_own_encoding_scores_as_it_does(folder, pipeline, tmp_path, options):
    manifest, bundle = import_bytes(folder, tmp_path / "made", exported(pipeline[0], **options))
    X = read_table(folder / "loans.csv", load_program_spec(folder / "loans.yaml").spec).X
    expected = pipeline[0].predict_proba(pipeline[1])[:, 1]
    np.testing.assert_allclose(bundle.model.score(X), expected, rtol=0, atol=1e-5)
    assert keeps_rows_apart(bundle.model.score, X)
    assert (manifest.model.file, manifest.estimator) == ("model.onnx", "onnx")
    assert manifest.measured.quality.held_out_rows == 400
    accepted = bundle.model.score(
        FeatureCodec(load_program_spec(folder / "loans.yaml").spec).encode_many(bundle.instances)
    )
    assert (accepted > 0.5).all()


@pytest.mark.attack
def test_a_pipeline_that_takes_what_is_protected_is_refused_and_one_without_that_input_is_not(
    folder, pipeline, tmp_path
):
    text = (folder / "loans.yaml").read_text()
    assert text.count("mutable: none}") == 1
    (folder / "protected.yaml").write_text(text.replace("mutable: none}", "mutable: none, protected: true}"))
    with pytest.raises(
        UsageError, match=r"the model reads region, which the spec protects: write `model: {may_read: \["
    ):
        import_bytes(folder, tmp_path / "reads", exported(pipeline[0]), "protected.yaml")
    numbers = ColumnTransformer([("numbers", StandardScaler(), ["income", "debts"])])
    without = make_pipeline(numbers, LogisticRegression()).fit(pipeline[1], pipeline[1]["repaid"])
    inputs = {name: kind for name, kind in TYPES.items() if name != "region"}
    content = convert_sklearn(without, initial_types=list(inputs.items())).SerializeToString()
    _, bundle = import_bytes(folder, tmp_path / "without", content, "protected.yaml")
    X = read_table(folder / "loans.csv", load_program_spec(folder / "protected.yaml").spec).X
    np.testing.assert_allclose(bundle.model.score(X), without.predict_proba(pipeline[1])[:, 1], rtol=0, atol=1e-5)
    with pytest.raises(ModelError, match="its inputs are not the features of the spec: they lack region"):
        import_bytes(folder, tmp_path / "lacks", content)


def test_rows_are_scored_alone_where_batches_change_their_last_bits(folder, pipeline, tmp_path, monkeypatch):
    steady = iter([True, False, True])
    monkeypatch.setattr(onnx_model, "keeps_rows_apart", lambda score, rows: next(steady))
    manifest, bundle = import_bytes(folder, tmp_path / "made", exported(pipeline[0]))
    assert manifest.onnx.rows == 1
    assert keeps_rows_apart(bundle.model.score, np.random.default_rng(0).random((70, 4)))


def test_a_booster_over_encoded_columns_becomes_trees(folder, tmp_path):
    table = read_table(folder / "loans.csv", load_program_spec(folder / "loans.yaml").spec)
    rows = table.X.astype(np.float32)
    booster = GradientBoostingClassifier(n_estimators=20).fit(rows, table.labels)
    manifest, bundle = import_bytes(folder, tmp_path / "made", to_onnx(booster, rows[:1]).SerializeToString())
    np.testing.assert_allclose(bundle.model.score(rows), booster.predict_proba(rows)[:, 1], rtol=0, atol=5.1e-6)
    assert manifest.model.file == "model.npz"
    again, _ = import_bytes(folder, tmp_path / "again", to_onnx(booster, rows[:1]).SerializeToString())
    assert (again.version, again.model) == (manifest.version, manifest.model)
    incomes = sorted(
        row["income"] for row, score in zip(table.rows, bundle.model.score(table.X), strict=True) if score > 0.5
    )
    assert bundle.baseline["income"] == incomes[(len(incomes) - 1) // 2]


def test_a_margin_is_measured_with_models_that_score_alike(folder, pipeline, tmp_path):
    (folder / "auto.yaml").write_text(SPEC.replace("MARGIN", "auto, objective: cost"))
    manifest, bundle = import_bytes(folder, tmp_path / "made", exported(pipeline[0]), "auto.yaml")
    assert 0.0 < manifest.margin < 0.3
    table = read_table(folder / "loans.csv", load_program_spec(folder / "auto.yaml").spec)
    others = importing.surrogates(bundle.model.score(table.X), table.X, table.labels, np.random.RandomState(0))
    away = [np.abs(other(table.X) - bundle.model.score(table.X)).mean() for other in others]
    assert len(others) == 20
    assert 0.0 < np.mean(away) < 0.05


def test_the_desired_class_is_the_value_of_the_label(folder, pipeline, tmp_path):
    people = pipeline[1]
    answers = np.where(people["repaid"] == 1, "back", "gone")
    columns = {**people.drop(columns="repaid"), "repaid": answers}
    pd.DataFrame(columns).to_csv(folder / "texts.csv", index=False)
    (folder / "texts.yaml").write_text((folder / "loans.yaml").read_text().replace("repaid}", "repaid, desired: back}"))
    content = exported(make_pipeline(*(step for _, step in pipeline[0].steps)).fit(people, answers))
    manifest, _ = import_bytes(folder, tmp_path / "made", content, "texts.yaml", "texts.csv")
    assert manifest.onnx.column == 0
    assert manifest.measured.quality.roc_auc > 0.9
    pipeline[0].fit(people, people["repaid"])


def linear(names=("x",), width=4, dtype=TensorProto.FLOAT, rows=None, operators=("Sigmoid",), domain="", **extra):
    """A model whose output p is a function of the first input: x W, and then ``operators``."""
    weights = np.array([[4.0], [-4.0], [0.0], [0.0]], dtype=np.float32)[:width]
    nodes = [helper.make_node("MatMul", [names[0], "w"], ["v0"])]
    for number, operator in enumerate(operators):
        nodes.append(helper.make_node(operator, [f"v{number}"], [f"v{number + 1}"], domain=domain))
    nodes.append(helper.make_node("Identity", [f"v{len(operators)}"], ["p"]))
    nodes += [helper.make_node("Identity", [f"v{len(operators)}"], [name]) for name in extra.get("outputs", ())]
    outputs = [
        helper.make_tensor_value_info(name, TensorProto.FLOAT, None) for name in ("p", *extra.get("outputs", ()))
    ]
    inputs = [helper.make_tensor_value_info(name, dtype, [rows, width]) for name in names]
    tensor = numpy_helper.from_array(weights, "w")
    if extra.get("external"):
        external_data_helper.set_external_data(tensor, location="weights.bin")
    versions = [helper.make_opsetid("", 17), *([helper.make_opsetid(domain, 1)] if domain else [])]
    model = helper.make_model(helper.make_graph(nodes, "g", inputs, outputs, [tensor]), opset_imports=versions)
    model.ir_version = 8
    return model.SerializeToString()


def pipeline_inputs(**changes) -> bytes:
    inputs = [
        helper.make_tensor_value_info(name, *changes.get(name, (TensorProto.FLOAT, [None, 1])))
        for name in ("income", "debts", "region")
    ]
    node = helper.make_node("Sigmoid", ["income"], ["p"])
    output = helper.make_tensor_value_info("p", TensorProto.FLOAT, None)
    model = helper.make_model(
        helper.make_graph([node], "g", inputs, [output]), opset_imports=[helper.make_opsetid("", 17)]
    )
    return model.SerializeToString()


def test_a_matrix_of_any_network_is_scored_by_onnxruntime(folder, tmp_path):
    manifest, bundle = import_bytes(folder, tmp_path / "made", linear())
    X = read_table(folder / "loans.csv", load_program_spec(folder / "loans.yaml").spec).X
    expected = 1 / (1 + np.exp(-4 * (X[:, 0] - X[:, 1])))
    np.testing.assert_allclose(bundle.model.score(X), expected, rtol=0, atol=5.1e-6)
    single, _ = import_bytes(folder, tmp_path / "single", linear(rows=1))
    assert (manifest.onnx.rows, single.onnx.rows) == (32, 1)


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (b"", "it is not an ONNX file, or an empty one"),
        (b"hello, world", "it is not an ONNX file"),
        (linear(operators=["Sigmoid", "Gelu"], domain="com.microsoft"), "uses operators of domain com.microsoft"),
        (linear(operators=["Sigmoidal"]), "there is no operator Sigmoidal in ONNX"),
        (linear(operators=["Sigmoid", "Bernoulli"]), "operator Bernoulli is random"),
        (linear(external=True), "tensor w is kept in another file: save the model as one file"),
        (linear(outputs=["q"]), r"2 of its outputs (p, q) may be probabilities: export one, or name it with --prob"),
        (linear(operators=[]), "its scores of the data go from -"),
        (
            linear(operators=["Neg", "Sigmoid"]),
            "its classes are the other way round; fit it with the desired outcome as",
        ),
        (
            linear(width=3),
            "is of shape (n, 3), not (n, 4): give it the columns of the spec, encoded or raw (region has texts, of",
        ),
        (linear(dtype=TensorProto.INT64), "its shapes do not fit together"),
        (linear(rows=8), "it takes exactly 8 rows at a time: export it with an open number of rows"),
        (
            linear(["income", "debts", "area"]),
            "its inputs are not the features of the spec: they lack region and add area",
        ),
        (pipeline_inputs(), "input region takes float32, feature region of the spec is categorical"),
        (pipeline_inputs(region=(TensorProto.STRING, [None, 2])), "input region has more than one value a row"),
        (
            pipeline_inputs(region=(TensorProto.STRING, [None, 1]), income=(TensorProto.STRING, [None, 1])),
            "input income takes texts, feature income of the spec is integer",
        ),
        (linear(operators=["Softmax", "Flatten"]), "it gives every row of the data the score 1"),
        (linear(operators=["Loop"]), "operator Loop may never end: export the model without loops"),
        (linear(operators=["Sigmoid", "Transpose"]), "is of shape (1, 32) for 32 rows"),
    ],
)
def test_a_file_that_cannot_be_used_is_refused_in_one_line(folder, tmp_path, capfd, content, says):
    (tmp_path / "x.onnx").write_bytes(content)
    line = ["models", "import", str(tmp_path / "x.onnx"), "--spec", str(folder / "loans.yaml")]
    code = main([*line, "--data", str(folder / "loans.csv"), "--output", str(tmp_path / "model")])
    told = capfd.readouterr().err
    assert told.startswith(f"onward: {tmp_path / 'x.onnx'}: ")
    assert says in told
    assert (code, told.count("\n")) == (ModelError.exit_code, 1)
    assert not (tmp_path / "model").exists()


def test_scores_that_depend_on_the_rows_beside_them_are_refused(folder, tmp_path):
    nodes = [
        helper.make_node("ReduceMean", ["x"], ["m"], axes=[0], keepdims=1),
        helper.make_node("Sub", ["x", "m"], ["d"]),
        helper.make_node("MatMul", ["d", "w"], ["v"]),
        helper.make_node("Sigmoid", ["v"], ["p"]),
    ]
    weights = numpy_helper.from_array(np.array([[4.0], [-4.0], [0.0], [0.0]], dtype=np.float32), "w")
    inputs = [helper.make_tensor_value_info("x", TensorProto.FLOAT, [None, 4])]
    outputs = [helper.make_tensor_value_info("p", TensorProto.FLOAT, None)]
    graph = helper.make_graph(nodes, "g", inputs, outputs, [weights])
    content = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8).SerializeToString()
    with pytest.raises(ModelError, match=r"x\.onnx: the score of a row depends on the rows beside it"):
        import_bytes(folder, tmp_path / "made", content)


def test_a_file_above_the_limit_is_refused_unread(folder, tmp_path):
    with (tmp_path / "x.onnx").open("wb") as file:
        file.truncate(2 << 30)
    loaded = load_program_spec(folder / "loans.yaml")
    with pytest.raises(ModelError, match=r"x\.onnx: it has 2147483648 bytes; a model may have 1073741824$"):
        import_model(tmp_path / "x.onnx", folder / "loans.csv", loaded, tmp_path / "model", seed=0)


def test_a_bundle_whose_model_is_not_as_imported_is_refused(folder, pipeline, tmp_path):
    import_bytes(folder, tmp_path / "made", exported(pipeline[0]))
    address = tmp_path / "made" / "model" / MANIFEST
    columns = FeatureCodec(load_program_spec(folder / "loans.yaml").spec).columns
    with pytest.raises(ModelError, match="it takes one input a feature: give the program's spec"):
        load_bundle(str(address), sha256=None, columns=columns)
    manifest = json.loads(address.read_text())
    del manifest["onnx"]
    address.write_text(json.dumps(manifest))
    with pytest.raises(ModelError, match="the manifest does not say how it is scored: import it with"):
        load_bundle(str(address), sha256=None, columns=columns)


def test_data_with_other_columns_is_refused(folder, tmp_path, capsys):
    (tmp_path / "x.onnx").write_bytes(linear())
    with (tmp_path / "few.csv").open("w", newline="") as stream:
        csv.writer(stream).writerows([["income", "repaid"], [20, 1]])
    line = ["models", "import", str(tmp_path / "x.onnx"), "--spec", str(folder / "loans.yaml")]
    assert main([*line, "--data", str(tmp_path / "few.csv"), "--output", str(tmp_path / "model")]) == 2
    assert capsys.readouterr().err == f"onward: {tmp_path / 'few.csv'}:1: debts, region: the columns are missing\n"


@pytest.mark.parametrize("package", ["onnx", "onnxruntime"])
def test_without_the_extra_it_says_what_to_install(folder, tmp_path, monkeypatch, package):
    content = linear()
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(ModelError, match=r"onnx and onnxruntime: install onward with its extra onnx$"):
        import_bytes(folder, tmp_path / "made", content)

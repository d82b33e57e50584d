"""Whether a model that is imported from ONNX decides as its own library does, and accepts the options that people get.

Models of XGBoost, LightGBM and scikit-learn are fitted, exported and imported: over one matrix, raw and encoded, and
over named inputs with texts and truth values. The import gets rows that the model was not fitted on. Decisions are held
against those of the library itself on these rows, and so are the options of those whom it rejects. It needs
``pip install 'onward[onnx,bench-onnx]'``.
"""

from __future__ import annotations

import sys
import tempfile
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from skl2onnx import to_onnx
from skl2onnx.common.data_types import BooleanTensorType, FloatTensorType, StringTensorType
from sklearn.compose import ColumnTransformer
from sklearn.ensemble import GradientBoostingClassifier, RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from onward.benchmarks import face
from onward.benchmarks.face import Row, progress
from onward.schemas.encoding import FeatureCodec
from onward.streams.programs.assembly import assemble
from onward.streams.programs.spec_check import load_program_spec
from onward.streams.programs.training.importing import import_model

Floats = NDArray[np.float64]
People = Any
"""Rows of people, as pandas has them."""
Accepts = Callable[[People], NDArray[np.bool_]]
"""Whether the library's own model accepts people, (n,)."""

SPEC = """program: loans
features:
  - {name: income, type: integer, bounds: [900, 6000], step: 50, mutable: up}
  - {name: debt_ratio, type: continuous, bounds: [0, 0.9], step: 0.01, mutable: down}
  - {name: owner, type: integer, bounds: [0, 1], mutable: up}
  - {name: late_payments, type: integer, bounds: [0, 5], mutable: down}
  - {name: region, type: categorical, categories: [north, south, west], mutable: none}
label: {name: repaid}
model: {manifest: model/manifest.json}
policy: {generator: search, choice: protoar, objective: cost, margin: 0.0, options: 3, window: {steps: 10}}
"""
NUMBERS = ("income", "debt_ratio", "owner", "late_payments")
REGIONS = ("north", "south", "west")
FITTED = 1200


@dataclass(frozen=True, kw_only=True)
class Args(face.Args):
    """The command line."""

    people: int = field(default=600, metadata={"quick": 300, "help": "people of each model, of the rows it is given"})
    trees: tuple[int, ...] = field(
        default=(10, 20, 60, 100, 500), metadata={"quick": (20,), "help": "sizes of the forests"}
    )


class Case(NamedTuple):
    """A model as its library has it, and as it exports it."""

    title: str
    content: bytes
    accepts: Accepts


def imported(args: Args) -> Iterator[Row]:
    """The figures of every model."""
    for seed in args.seeds:
        fitted, rest = people(FITTED, 2 * seed), people(args.people, 2 * seed + 1)
        for case in cases(fitted, args.trees):
            yield from _of_case(case, rest)


def people(count: int, seed: int) -> People:
    """Draw people with labels."""
    random = np.random.default_rng(seed)
    rows = pd.DataFrame(
        {
            "income": random.integers(90, 601, count) * 10,
            "debt_ratio": random.integers(0, 91, count) / 100.0,
            "owner": random.integers(0, 2, count),
            "late_payments": random.integers(0, 6, count),
            "region": random.choice(REGIONS, count),
        }
    )
    odds = rows["income"] / 900.0 - 2.5 - 3.0 * rows["debt_ratio"] + rows["owner"] - 0.4 * rows["late_payments"]
    odds += 0.5 * (rows["region"] == "north")
    return rows.assign(repaid=(random.random(count) < 1.0 / (1.0 + np.exp(-odds))).astype(int))


def cases(fitted: People, trees: tuple[int, ...]) -> Iterator[Case]:
    """The models, fitted on these people."""
    matrices = {"raw matrix": raw_matrix, "encoded matrix": encoded_matrix}
    for name, matrix in matrices.items():
        yield from _boosters(name, matrix, fitted)
    for count in trees:
        forest = RandomForestClassifier(count, random_state=0)
        yield _of_sklearn(f"forest of {count}, raw matrix", forest, raw_matrix, fitted)
        leaves = RandomForestClassifier(count, min_samples_leaf=10, random_state=0)
        yield _of_sklearn(f"forest of {count} with large leaves, encoded matrix", leaves, encoded_matrix, fitted)
        yield _named(f"forest of {count}, named inputs", RandomForestClassifier(count, random_state=0), fitted)
    logistic = make_pipeline(StandardScaler(), LogisticRegression())
    yield _of_sklearn("scaled logistic regression, raw matrix", logistic, raw_matrix, fitted)
    network = make_pipeline(StandardScaler(), MLPClassifier((8,), max_iter=400, random_state=0))
    yield _of_sklearn("scaled network, raw matrix", network, raw_matrix, fitted)
    yield _named("gradient boosting, named inputs", GradientBoostingClassifier(random_state=0), fitted)
    yield _named("logistic regression, named inputs", LogisticRegression(max_iter=5000), fitted)


def raw_matrix(rows: People) -> NDArray[np.float32]:
    """Numbers as they are, then a column a region."""
    regions = [(rows["region"] == region).to_numpy() for region in REGIONS]
    return np.column_stack([rows[list(NUMBERS)].to_numpy(), *regions]).astype(np.float32)


def encoded_matrix(rows: People) -> NDArray[np.float32]:
    """Onward's encoded columns."""
    return _CODEC.encode_many(_plain(rows)).astype(np.float32)


def _boosters(name: str, matrix: Callable[[People], NDArray[np.float32]], fitted: People) -> Iterator[Case]:
    import lightgbm
    import xgboost
    from onnxmltools import convert_lightgbm, convert_xgboost
    from onnxmltools.convert.common.data_types import FloatTensorType as Floats32

    X, labels = matrix(fitted), fitted["repaid"].to_numpy()
    types = [("x", Floats32([None, X.shape[1]]))]
    for count, depth in ((60, 3), (300, 6)):
        booster = xgboost.XGBClassifier(n_estimators=count, max_depth=depth, random_state=0).fit(X, labels)
        content = convert_xgboost(booster, initial_types=types).SerializeToString()
        yield Case(f"XGBoost of {count}, {name}", content, _accepting(booster, matrix))
        booster = lightgbm.LGBMClassifier(n_estimators=count, max_depth=depth, verbose=-1, random_state=0).fit(
            X, labels
        )
        content = convert_lightgbm(booster, initial_types=types).SerializeToString()
        yield Case(f"LightGBM of {count}, {name}", content, _accepting(booster, matrix))


def _of_sklearn(title: str, model: Any, matrix: Callable[[People], NDArray[np.float32]], fitted: People) -> Case:
    model.fit(matrix(fitted), fitted["repaid"])
    return Case(title, _exported(model, matrix(fitted)[:1]), _accepting(model, matrix))


def _named(title: str, model: Any, fitted: People) -> Case:
    """A pipeline with an input a feature: texts for regions, a truth value for owners."""
    columns = [
        ("numbers", "passthrough", ["income", "debt_ratio", "late_payments"]),
        ("flag", "passthrough", ["owner"]),
        ("texts", OneHotEncoder(), ["region"]),
    ]
    pipeline = make_pipeline(ColumnTransformer(columns), model).fit(_typed(fitted), fitted["repaid"])
    kinds = {"owner": BooleanTensorType, "region": StringTensorType}
    types = [(name, kinds.get(name, FloatTensorType)([None, 1])) for name in (*NUMBERS, "region")]
    return Case(title, _exported(pipeline, None, initial_types=types), _accepting(pipeline, _typed))


def _typed(rows: People) -> People:
    types = {"income": "float32", "debt_ratio": "float32", "late_payments": "float32", "owner": "bool"}
    return rows[[*NUMBERS, "region"]].astype(types)


def _exported(model: Any, rows: NDArray[np.float32] | None, **options: Any) -> bytes:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        content: bytes = to_onnx(model, rows, options={"zipmap": False}, **options).SerializeToString()
    return content


def _accepting(model: Any, matrix: Callable[[People], Any]) -> Accepts:
    return lambda rows: np.asarray(model.predict_proba(matrix(rows))[:, 1] > 0.5)


def _of_case(case: Case, rest: People) -> Iterator[Row]:
    progress(f"{case.title} ...")
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        rest.to_csv(folder / "rest.csv", index=False)
        (folder / "x.onnx").write_bytes(case.content)
        (folder / "spec.yaml").write_text(SPEC)
        loaded = load_program_spec(folder / "spec.yaml")
        import_model(folder / "x.onnx", folder / "rest.csv", loaded, folder / "model", seed=0)
        program = assemble(loaded)
        X = program.codec.encode_many(_plain(rest))
        approved = program.approves(program.bundle.model.score(X))
        proposals = program.generator_under(program.bundle).propose(X[~approved])
    same = approved == case.accepts(rest)
    options = _people_of(proposals.points[proposals.point], program.codec)
    yield Row(f"{case.title}: decisions as the library's own", float(same.mean()), "share", aim=1.0, better="higher")
    accepted = float(case.accepts(options).mean()) if len(options) else 1.0
    name = f"{case.title}: options that it accepts, of {len(options):,}"
    yield Row(name, accepted, "share", aim=1.0, better="higher")


def _people_of(targets: Floats, codec: FeatureCodec) -> People:
    """Encoded targets, as the people who come back with them."""
    codes = codec.codes(targets)
    rows = pd.DataFrame({name: codes[:, place] for place, name in enumerate(NUMBERS)})
    return rows.assign(region=[REGIONS[int(code)] for code in codes[:, len(NUMBERS)]])


def _plain(rows: People) -> list[dict[str, Any]]:
    """People as an application has them."""
    whole = {"income": "int64", "owner": "int64", "late_payments": "int64"}
    records: list[dict[str, Any]] = rows[[*NUMBERS, "region"]].astype(whole).to_dict("records")
    return records


def _codec() -> FeatureCodec:
    with tempfile.TemporaryDirectory() as place:
        (Path(place) / "spec.yaml").write_text(SPEC)
        return FeatureCodec(load_program_spec(Path(place) / "spec.yaml").spec)


_CODEC = _codec()

if __name__ == "__main__":
    sys.exit(face.run(Args, imported, width=130))

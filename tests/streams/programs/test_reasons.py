"""Reasons in the words of features, for every kind of model, and the baseline that they are told against."""

from __future__ import annotations

import json
from types import SimpleNamespace

import msgspec
import numpy as np
import pytest
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier

from onward.agents.reasons import LinearContributions, SampledContributions, TreeContributions
from onward.schemas.encoding import FeatureCodec
from onward.schemas.events import Reason
from onward.streams.errors import ModelError
from onward.streams.programs.bundle.baseline import baseline_of
from onward.streams.programs.bundle.loader import load_bundle
from onward.streams.programs.bundle.manifest import MANIFEST, FeatureColumn
from onward.streams.programs.models.scoring import scorer
from onward.streams.programs.reasons import RejectionReasons, contributions_under
from onward.streams.programs.spec_check import load_program_spec
from onward.testing.spaces import SigmoidScore
from onward.tests.support.fixed_models import COLUMNS, WEIGHTS, drawn_person, spec_text, write_model

TYPICAL = {"region": "south", "income": 60, "debts": 2, "housing": "own", "training": "course"}
POOR = {"region": "north", "income": 20, "debts": 7, "housing": "rent", "training": "none"}
MODEL = SimpleNamespace(score=SigmoidScore(WEIGHTS, -2.9))


def spec_of(folder, text="", **of_features):
    (folder / "spec.yaml").write_text(spec_text(text), encoding="utf-8")
    spec = load_program_spec(folder / "spec.yaml").spec
    features = [msgspec.structs.replace(one, **of_features.get(one.name, {})) for one in spec.features]
    return msgspec.structs.replace(spec, features=tuple(features))


def stated(spec, features=POOR, model=MODEL):
    codec = FeatureCodec(spec)
    values = codec.read(msgspec.json.encode(features))
    [reasons] = RejectionReasons(codec, model, TYPICAL).reasons_of([values], codec.encode_read([values]))
    return reasons


def test_the_foremost_reason_is_first_and_tells_the_own_value(tmp_path):
    assert stated(spec_of(tmp_path)).stated == (
        Reason("income is too low", "income", 20.0),
        Reason("debts is too high", "debts", 7),
        Reason("housing is rent", "housing", "rent"),
        Reason("training is too low", "training", "none"),
    )


def test_a_value_of_personal_data_is_not_repeated(tmp_path):
    spec = spec_of(tmp_path, income={"pii": True}, housing={"pii": True})
    reasons = stated(spec).stated
    assert msgspec.json.decode(msgspec.json.encode(reasons[0])) == {"text": "income is too low", "feature": "income"}
    assert reasons[2] == Reason("what was given as housing", "housing")


def test_what_was_not_given_is_said_so(tmp_path):
    features = {name: value for name, value in POOR.items() if name != "debts"}
    assert stated(spec_of(tmp_path, debts={"missing": 9}), features).stated[0] == Reason("debts was not given", "debts")


def test_a_protected_feature_is_withheld_and_the_next_one_moves_up(tmp_path):
    reasons = stated(spec_of(tmp_path, income={"protected": True}))
    assert reasons.withheld == ("income",)
    assert [reason.feature for reason in reasons.stated] == ["debts", "housing", "training"]


def test_what_equals_the_baseline_is_no_reason(tmp_path):
    assert stated(spec_of(tmp_path), TYPICAL).stated == ()
    assert [reason.feature for reason in stated(spec_of(tmp_path), {**TYPICAL, "debts": 3}).stated] == ["debts"]


def test_each_kind_of_model_has_its_exact_way(tmp_path):
    codec, random = FeatureCodec(spec_of(tmp_path)), np.random.default_rng(0)
    X = codec.encode_many([drawn_person(random) for _ in range(80)])
    labels = (X @ WEIGHTS > 2.9).astype(int)

    def way(model):
        return type(contributions_under(model, X[0], codec))

    for estimator in (RandomForestClassifier(3), HistGradientBoostingClassifier(max_iter=3)):
        assert way(scorer(estimator.fit(X, labels), COLUMNS)) is TreeContributions
    assert way(MODEL) is LinearContributions
    assert way(SimpleNamespace(score=lambda rows: rows[:, 0])) is SampledContributions


def column(name, kind, **fields):
    return FeatureColumn(name, kind, **fields)


def test_the_baseline_has_medians_and_the_most_frequent_categories():
    rows = [
        {"income": income, "home": home, "school": school}
        for income, home, school in [
            (30, "own", "some"),
            (10.5, "rent", "none"),
            (90, "own", "most"),
            (20, "a", "most"),
        ]
    ]
    columns = [
        column("income", "continuous"),
        column("home", "categorical"),
        column("school", "ordinal", levels=("none", "some", "most")),
    ]
    assert baseline_of(rows, columns) == {"income": 20, "home": "own", "school": "some"}
    assert baseline_of([], columns) is None
    assert baseline_of(rows, [column("school", "ordinal")]) == {"school": "most"}


@pytest.fixture
def bundle(tmp_path):
    """A bundle's manifest as JSON, and what loads it again after changes."""
    spec = spec_of(tmp_path, "policy: {generator: instances}")
    write_model(tmp_path / "v1", spec, -2.9)
    codec, address = FeatureCodec(spec), tmp_path / "v1" / MANIFEST
    manifest = json.loads(address.read_text())

    def loaded(**changes):
        changed = {name: value for name, value in {**manifest, **changes}.items() if value is not None}
        address.write_text(json.dumps(changed))
        return load_bundle(str(address), sha256=None, columns=codec.columns, codec=codec)

    return manifest, loaded


def test_a_bundle_keeps_the_baseline_of_whom_its_model_approves(bundle):
    manifest, loaded = bundle
    assert manifest["baseline"].keys() == TYPICAL.keys()
    assert loaded().baseline == manifest["baseline"]
    assert manifest["baseline"]["income"] > 50


def test_a_bundle_of_an_older_version_has_the_baseline_of_its_instances(bundle):
    _, loaded = bundle
    older = loaded(baseline=None)
    assert older.baseline == baseline_of(older.instances, older.manifest.features)
    assert older.baseline is not None


@pytest.mark.parametrize(
    ("wrong", "why"),
    [({"housing": "palace"}, "housing"), ({"income": 1000}, "income"), ({"income": "much"}, "income"), ({"x": 1}, "x")],
)
def test_a_baseline_of_another_program_is_refused(bundle, wrong, why):
    manifest, loaded = bundle
    with pytest.raises(ModelError, match=f"the baseline of its reasons does not fit the spec: .*{why}"):
        loaded(baseline={**manifest["baseline"], **wrong})


def test_without_instances_a_bundle_of_an_older_version_has_none(tmp_path):
    spec = spec_of(tmp_path)
    write_model(tmp_path / "v1", spec, -2.9)
    address = tmp_path / "v1" / MANIFEST
    manifest = json.loads(address.read_text())
    del manifest["baseline"]
    address.write_text(json.dumps(manifest))
    assert load_bundle(str(address), sha256=None, columns=FeatureCodec(spec).columns).baseline is None

"""A bundle says what people are like, and holds nobody."""

from __future__ import annotations

import csv
import hashlib
import json

import msgspec
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from onward.agents.costs import MaxPercentileShift
from onward.schemas.encoding import FeatureCodec
from onward.schemas.spec import ProgramSpec
from onward.streams.cli import main
from onward.streams.errors import ModelError, UsageError
from onward.streams.programs.assembly import assemble
from onward.streams.programs.bundle.loader import load_bundle
from onward.streams.programs.bundle.population import LARGEST_SIZE, QUANTILES, population_of, read_population
from onward.streams.programs.program import cost_of
from onward.streams.programs.spec_check import load_program_spec
from onward.tests.support.loans import reviewed_spec, write_loans

SPEC = msgspec.convert(
    {
        "program": "loan",
        "features": [
            {"name": "income", "type": "continuous", "bounds": [0, 100]},
            {"name": "debts", "type": "integer", "bounds": [0, 10]},
            {"name": "home", "type": "categorical", "categories": ["own", "rent", "free"]},
            {"name": "school", "type": "ordinal", "levels": ["none", "some", "all"]},
        ],
        "label": {"name": "repaid"},
        "model": {"manifest": "model/manifest.json"},
        "policy": {"cost": "max_percentile_shift"},
    },
    ProgramSpec,
    strict=False,
)
CODEC = FeatureCodec(SPEC)
TYPES = {feature.name: feature.type for feature in SPEC.features}
PEOPLE = st.fixed_dictionaries(
    {
        "income": st.floats(0, 100) | st.integers(0, 100),
        "debts": st.integers(0, 10),
        "home": st.sampled_from(["own", "rent", "free"]),
        "school": st.sampled_from(["none", "some", "all"]),
    }
)


def draw(count, seed=0):
    random = np.random.default_rng(seed)
    return [
        {
            "income": min(float(random.gamma(3, 10)), 100.0),
            "debts": int(random.integers(0, 11)),
            "home": str(random.choice(["own", "rent", "free"], p=[0.6, 0.35, 0.05])),
            "school": str(random.choice(["none", "some", "all"])),
        }
        for _ in range(count)
    ]


def written(rows):
    return msgspec.json.encode(population_of(rows, TYPES))


@given(rows=st.lists(PEOPLE, min_size=1, max_size=30), people=st.lists(PEOPLE, min_size=2, max_size=4))
def test_costs_of_a_small_population_are_those_of_its_people(rows, people):
    X = CODEC.encode_many(people)
    expected = MaxPercentileShift(CODEC.encode_many(rows))(X, X)
    np.testing.assert_array_equal(cost_of(CODEC, read_population(written(rows), TYPES))(X, X), expected)


def test_costs_of_a_large_population_are_right_to_a_quantile():
    rows, people = draw(5000), CODEC.encode_many(draw(50, seed=1))
    expected = MaxPercentileShift(CODEC.encode_many(rows))(people, people)
    read = read_population(written(rows), TYPES)
    assert len(read) == LARGEST_SIZE
    np.testing.assert_allclose(cost_of(CODEC, read)(people, people), expected, rtol=0, atol=1 / QUANTILES + 1e-12)


def test_a_population_of_a_population_is_the_same():
    content = written(draw(5000))
    again = written(read_population(content, TYPES))
    assert msgspec.json.decode(again)["numbers"] == msgspec.json.decode(content)["numbers"]


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ({"size": 10**12}, "not a population: Expected `int` <= 1000"),
        ({"numbers": {"income": [1.0]}}, "it tells nothing of debts"),
        ({"levels": {"home": {"own": 0}, "school": {"all": 1}}}, "it tells nothing of home"),
        ({"numbers": {"income": [], "debts": [1]}}, "it tells nothing of income"),
        ({"size": None}, "not a population"),
    ],
)
def test_a_file_that_is_no_population_is_refused(change, problem):
    content = json.dumps({**json.loads(written(draw(5))), **change}).encode()
    with pytest.raises(ValueError, match=problem):
        read_population(content, TYPES)


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    folder = tmp_path_factory.mktemp("trained")
    write_loans(folder / "loans.csv")
    for generator in ("search", "adapted"):
        spec = reviewed_spec().replace("generator: search", f"generator: {generator}")
        (folder / f"{generator}.yaml").write_text(spec.replace("model/manifest.json", f"{generator}/manifest.json"))
        flags = ["--spec", str(folder / f"{generator}.yaml"), "--output", str(folder / generator)]
        assert main(["train", str(folder / "loans.csv"), *flags, "--estimator", "logistic_regression"]) == 0
    return folder


def people_in(folder):
    """The rows of the data that stand in a file of a bundle as they are."""
    with (folder.parent / "loans.csv").open() as file:
        features = {",".join(row[:3]) for row in csv.reader(file)}
    return {
        line
        for path in folder.iterdir()
        if path.suffix in (".csv", ".json")
        for line in path.read_text().splitlines()[1:]
        if line in features
    }


def test_a_trained_bundle_holds_nobody_where_its_generator_needs_nobody(trained):
    assert people_in(trained / "search") == set()
    assert people_in(trained / "adapted")
    assert (trained / "search" / "instances.csv").read_text() == "income,debts,region\n"
    bundle = load_bundle(
        str(trained / "search" / "manifest.json"), sha256=None, columns=assemble(spec(trained, "search")).codec.columns
    )
    assert bundle.instances == []
    assert len(bundle.reference) == 200


def spec(folder, generator):
    return load_program_spec(folder / f"{generator}.yaml")


def test_a_generator_that_needs_instances_is_not_given_a_model_without(trained, tmp_path):
    text = (trained / "adapted.yaml").read_text().replace("adapted/manifest.json", f"{trained}/search/manifest.json")
    (tmp_path / "other.yaml").write_text(text)
    with pytest.raises(UsageError, match=r"has no recourse instances, which `generator: adapted` needs: train it"):
        assemble(load_program_spec(tmp_path / "other.yaml"))


def test_a_bundle_of_an_older_version_has_rows_of_people_and_loads_as_before(trained):
    address = trained / "adapted" / "manifest.json"
    manifest = json.loads(address.read_text())
    people = b"income,debts,region\n21,7,north\n64,0,south\n"
    (trained / "adapted" / "reference.csv").write_bytes(people)
    del manifest["population"]
    older = trained / "adapted" / "older.json"
    older.write_text(json.dumps({**manifest, "reference": entry("reference.csv", people)}))
    bundle = load_bundle(str(older), sha256=None, columns=tuple(manifest["columns"]))
    assert bundle.reference == [
        {"income": 21, "debts": 7, "region": "north"},
        {"income": 64, "debts": 0, "region": "south"},
    ]


def entry(name, content):
    return {"file": name, "size": len(content), "sha256": hashlib.sha256(content).hexdigest()}


def test_a_damaged_population_is_refused_in_one_line(trained, tmp_path):
    address = trained / "adapted" / "manifest.json"
    manifest = json.loads(address.read_text())
    bad = b'{"numbers": {}, "levels": {}, "size": 0}'
    (trained / "adapted" / "bad.json").write_bytes(bad)
    other = trained / "adapted" / "other.json"
    other.write_text(json.dumps({**manifest, "population": entry("bad.json", bad)}))
    with pytest.raises(ModelError, match=r"file bad\.json: it tells nothing of income"):
        load_bundle(str(other), sha256=None, columns=tuple(manifest["columns"]))

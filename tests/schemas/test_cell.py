"""A cell means the same in an event, a file and a data frame."""

import json

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from onward.schemas.encoding import FeatureCodec, FilledValues
from onward.schemas.problems import Problem
from onward.schemas.raw_table import RawTable
from onward.schemas.spec import ProgramSpec
from onward.schemas.specfile import parse_spec
from onward.schemas.table import people_of, read_table
from onward.schemas.unlabelled import Unlabelled
from onward.streams.api.people import read_valid

HEAD = "program: p\nlabel: {name: y}\nmodel: {manifest: m}\nfeatures:\n"
FLAG = b"  - {name: flag, type: integer, bounds: [0, 1]}\n"
FEATURES = {
    "amount": "type: continuous, bounds: [0, 1000000], not_given: [-9, 999999, k.A.]",
    "count": "type: integer, bounds: [0, 20], not_given: [-1, 12]",
    "flag": "type: integer, bounds: [0, 1]",
    "code": 'type: categorical, categories: ["1", "2", "3", none], not_given: [9, other]',
    "truth": 'type: categorical, categories: ["False", "True"]',
    "bit": 'type: categorical, categories: ["0", "1"]',
    "level": "type: ordinal, levels: [none, low, Unknown]",
}
MISSING = {"amount": 5, "count": 5, "flag": 0, "code": '"2"', "truth": '"True"', "bit": '"0"', "level": "low"}


def spec_of(name: str, *, filled: bool = False) -> ProgramSpec:
    fields = FEATURES[name] + (f", missing: {MISSING[name]}" if filled else "")
    spec = parse_spec(f"{HEAD}  - {{name: {name}, {fields}}}\n".encode())
    assert isinstance(spec, ProgramSpec), spec
    return spec


def of_event(spec: ProgramSpec, cell: object) -> object:
    """The value of a feature in an event, None where it is not given, or ``refused``."""
    values = FeatureCodec(spec).read(json.dumps({spec.features[0].name: cell}).encode())
    if isinstance(values, Problem):
        return "refused"
    return None if isinstance(values, FilledValues) else values[0]


def of_people(people: dict[str, dict[str, object]], name: str) -> object:
    return people["0"][name] if people else "refused"


def of_frame(spec: ProgramSpec, cell: object) -> object:
    name = spec.features[0].name
    return of_people(read_valid(pd.DataFrame({name: [cell]}, dtype=object), spec).people, name)


def of_csv(spec: ProgramSpec, cell: object) -> object:
    name = spec.features[0].name
    text = "" if cell is None else str(cell)
    # A number of a program's is in a file as the program writes it; what its dot is, a person has said by its bounds.
    table = RawTable(__file__, {name: [text]}, [2], typed={name} if isinstance(cell, float) else ())
    return of_people(people_of(table, spec).people, name)


CELLS = (
    st.none()
    | st.booleans()
    | st.integers(-10, 25)
    | st.integers(-10, 25).map(float)
    | st.floats(-10, 1e7)
    | st.sampled_from([999999, 999999.0, "NA", "?", "", "none", "None", "Unknown", "UNKNOWN", "nan", "k.A.", "other"])
    | st.sampled_from(["low", "high", "true", "False"])
)


@given(st.sampled_from(list(FEATURES)), CELLS, st.booleans())
def test_a_cell_means_the_same_in_an_event_a_file_and_a_data_frame(name, cell, filled):
    spec = spec_of(name, filled=filled)
    meant = of_event(spec, cell)
    assert of_frame(spec, cell) == meant or isinstance(cell, str)
    if not isinstance(cell, str) or name not in ("flag", "amount", "count"):
        assert of_csv(spec, cell) == meant


@pytest.mark.parametrize(
    ("name", "cell", "value"),
    [
        ("code", 1.0, "1"),
        ("code", 3, "3"),
        ("code", "1.0", "1"),
        ("code", "none", "none"),
        ("code", "None", None),
        ("code", 9.0, None),
        ("code", "9", None),
        ("code", "other", None),
        ("code", True, "refused"),
        ("code", 4.0, "refused"),
        ("code", "01", "refused"),
        ("level", "Unknown", "Unknown"),
        ("level", "unknown", None),
        ("truth", True, "True"),
        ("truth", 0, "False"),
        ("truth", "TRUE", "True"),
        ("bit", True, "1"),
        ("bit", 0.0, "0"),
        ("flag", True, 1),
        ("count", True, "refused"),
        ("count", 12, None),
        ("count", 12.0, None),
        ("count", 11, 11),
        ("amount", -9.0, None),
        ("amount", "k.A.", None),
        ("amount", -8, "refused"),
    ],
)
def test_what_a_cell_means(name, cell, value):
    spec = spec_of(name, filled=True)
    assert [of_event(spec, cell), of_frame(spec, cell), of_csv(spec, cell)] == [value] * 3
    if value is None:
        assert of_event(spec_of(name), cell) == "refused"


def test_no_row_with_a_code_keeps_the_rules():
    codec = FeatureCodec(spec_of("count", filled=True))
    rows = codec.encode_many([{"count": number} for number in range(21)])
    assert np.flatnonzero(~codec.keep_rules(rows)).tolist() == [12]


@pytest.mark.parametrize(
    ("name", "fields", "problem"),
    [
        ("a", "type: integer, bounds: [0, 9], not_given: [8], missing: 8", "missing: 8 stands for no value"),
        ("a", "type: integer, bounds: [0, 9], not_given: [8, 8.0]", "8.0 is given twice"),
        ("a", "type: integer, bounds: [0, 9], not_given: ['8']", "'8' is a number: write it without quotation marks"),
        ("a", "type: categorical, categories: [x, '1'], not_given: [1]", "'1' is one of the categories: take it out"),
        ("a", "type: ordinal, levels: [x, none], not_given: [none]", "'none' is one of the levels: take it out"),
    ],
)
def test_what_stands_for_no_value_is_none(name, fields, problem):
    [found] = parse_spec(f"{HEAD}  - {{name: {name}, {fields}}}\n".encode())
    assert problem in found.message


@pytest.mark.parametrize(
    ("text", "labels", "left_out"),
    [
        ("flag,y\n1,1\n0,NA\n1,null\n0,?\n1,None\n0,\n1,nan\n0,0\n", [1, 0], 6),
        ("flag,y\nTrue,True\nFalse,False\nx,Unknown\n", [1, 0], 1),
        ("flag,y\n1.0,1.0\n0.0,0.0\n", [1, 0], 0),
    ],
)
def test_a_row_whose_label_is_not_given_is_no_rejection(tmp_path, text, labels, left_out):
    file = tmp_path / "data.csv"
    file.write_text(text)
    table = read_table(file, spec_of("flag"))
    assert table.labels.tolist() == labels
    assert table.without_label == (Unlabelled(left_out) if left_out else None)


@pytest.mark.parametrize(
    ("label", "cells", "labels"),
    [
        ("desired: 1, not_given: [-9, 99]", ("1", "-9", "0", "-9.0", "99", "1.0"), [1, 0, 1]),
        ("desired: 'yes', not_given: [-9, open]", ("yes", "-9", "no", "open", "Open"), [1, 0, 0]),
    ],
)
def test_a_row_whose_label_is_a_code_is_no_rejection(tmp_path, label, cells, labels):
    file, spec = tmp_path / "data.csv", parse_spec(HEAD.replace("name: y", f"name: y, {label}").encode() + FLAG)
    file.write_text("flag,y\n" + "".join(f"1,{cell}\n" for cell in cells))
    table = read_table(file, spec)
    assert table.labels.tolist() == labels
    assert table.without_label == Unlabelled(len(cells) - len(labels))


@pytest.mark.parametrize(
    ("label", "problem"),
    [
        ("desired: 1, not_given: [1.0]", "1.0 is the desired value: take it out of one of the two"),
        ("desired: 'yes', not_given: [-9, -9.0]", "-9.0 is given twice"),
    ],
)
def test_a_code_of_a_label_is_not_its_desired_value(label, problem):
    [found] = parse_spec(HEAD.replace("name: y", f"name: y, {label}").encode() + FLAG)
    assert found.message == problem
    assert found.path.startswith("label.not_given")


def test_a_category_without_a_column_is_that_of_rows_with_0_in_all(tmp_path):
    spec = parse_spec(
        f"{HEAD}  - {{name: c, type: categorical, categories: [x, y, z], one_hot: [c_y, c_z]}}\n".encode()
    )
    file = tmp_path / "data.csv"
    file.write_text("c_y,c_z,y\n0,0,1\nTrue,False,0\n0.0,1.0,1\n")
    assert [row["c"] for row in read_table(file, spec).rows] == ["x", "y", "z"]
    assert FeatureCodec(spec).columns == ("c:x", "c_y", "c_z")

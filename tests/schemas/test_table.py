import csv
import functools
import os
import unicodedata
from pathlib import Path

import numpy as np
import pytest

from onward.schemas.spec import ProgramSpec
from onward.schemas.specfile import load_spec, parse_spec
from onward.schemas.table import Table, TableError, read_table

ROOT = Path(__file__).parents[2]
SPECS = ROOT / "environments" / "specs"
SHARED = Path(os.environ.get("ONWARD_SHARED", ROOT.parent / "shared"))
DATA_SETS = ["credit", "diabetes", "compas"]
needs_shared = pytest.mark.skipif(not (SHARED / "data").is_dir(), reason="needs the shared data")

SPEC = parse_spec(b"""\
program: loan
features:
  - {name: income, type: continuous, bounds: [0, 100]}
  - {name: debts, type: integer, bounds: [0, 10]}
  - {name: region, type: categorical, categories: [north, south], pii: true}
label: {name: repaid, desired: 'yes'}
model: {manifest: m}
""")
assert isinstance(SPEC, ProgramSpec)
ROWS = [{"income": 20, "debts": 3, "region": "south"}, {"income": 2.5, "debts": 0, "region": "north"}]


@functools.cache
def data_set(name: str) -> tuple[ProgramSpec, Table]:
    spec = load_spec(SPECS / f"{name}.yaml").spec
    return spec, read_table(SHARED / "data" / f"{name}.csv", spec)


def written(folder: Path, text: str | bytes) -> Path:
    file = folder / "data.csv"
    file.write_bytes(text if isinstance(text, bytes) else text.encode())
    return file


@pytest.mark.parametrize(
    "text",
    [
        "income,debts,region,repaid\n20,3,south,yes\n2.5,0.0,north,no\n",
        "\ufeffrepaid,region,debts,other,income\r\nyes,south,3,,20\r\n\r\nno,north,0,,2.5\r\n",
        'income,debts,region:south,region:north,repaid\n20,3,1,0,yes\n2.5,0,0.0,1.0,"no"\n',
        'income;debts;region;"a, b";repaid\n20;3;south;,;yes\n2.5;0;north;;no\n',
        "income\tdebts\tregion\trepaid\n20\t3\tsouth\tyes\n2.5\t0\tnorth\tno\n",
    ],
)
def test_the_same_rows_in_any_layout(tmp_path, text):
    table = read_table(written(tmp_path, text), SPEC)
    assert table.rows == ROWS
    assert [type(row["debts"]) for row in table.rows] == [int, int]
    assert table.labels.tolist() == [1, 0]
    assert table.X.tolist() == [[0.2, 0.3, 0, 1], [0.025, 0, 1, 0]]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", ": the file is empty"),
        ("income,debts,region,repaid\n", ": no rows below the header"),
        ("income,debts,income,repaid\n1,2,3,4\n", ":1: income: two columns"),
        ("income,region,repaid\n20,south,yes\n", ":1: debts: the column is missing"),
        ("income,debts,region:north,repaid\n20,1,1,yes\n", ":1: region:south: the column is missing (one-hot"),
        ("income,debts,region,y\n20,1,south,yes\n", ":1: repaid: the label column is missing"),
        ("income,debts,region,repaid\n20,1,south,yes\n20,1,south\n", ":3: 3 cells for 4 columns"),
        ("income,debts,region,repaid\n20,1,south,yes\n120,1,south,no\n", ":3: income: 120 is outside 0 to 100"),
        ("income,debts,region,repaid\n20,1.5,south,yes\n", ":2: debts: 1.5 is not a whole number"),
        (
            "income,debts,region,repaid\n,1,south,yes\n",
            ":2: income: the cell has no value: give one, or `missing: VALUE`",
        ),
        ("income,debts,region,repaid\n20,1,,yes\n", ":2: region: the cell has no value: give one"),
        ("income,debts,region,repaid\n20,12 %,north,yes\n", ":2: debts: '12 %' is not a number"),
        ("Income,debts,region,repaid\n20,1,south,yes\n", ":1: income: the column is missing (did you mean Income?)"),
        ("income;debts;region;repaid\n2,5;1;south;yes\n", ":2: income: '2,5' has a decimal comma: write"),
        ("income;debts;region;repaid\n0,125;1;south;yes\n", ":2: income: '0,125' has a decimal comma: write"),
        (
            "income;debts;region;repaid\n1,200;1;south;yes\n",
            ":2: income: '1,200' has a comma: write 1200 if 1,200 has a thousands separator, 1.2 if a decimal comma",
        ),
        ("income;debts;region;repaid\n12,345,678;1;south;yes\n", ":2: income: '12,345,678' has a comma: write 1200 if"),
        ("income;debts;region;repaid\n-3,450.75;1;south;yes\n", ":2: income: '-3,450.75' has a comma: write 1200 if"),
        ("income,debts,region,repaid\nnan,1,south,yes\n", ":2: income: the cell has no value"),
        ("income,debts,region,repaid\ninf,1,south,yes\n", ":2: income: must be a finite number"),
        ("income,debts,region,repaid\n20,1,Unknown,yes\n", ":2: region: the cell has no value"),
        ("income,debts,region,repaid\n1_0,1,south,yes\n", ":2: income: '1_0' is not a number"),
        ("income,debts,region,repaid\n20,1,secret,yes\n", ":2: region: the value is not one of 'north', 'south'"),
        ("income,debts,region:north,region:south,repaid\n20,1,1,1,yes\n", ":2: region: of the columns region:north"),
        ("income,debts,region:north,region:south,repaid\n20,1,0,x,yes\n", ":2: region: of the columns region:north"),
        ("income,debts,region,repaid\n20,1,south,\n20,1,south,NA\n", ": repaid: no row has a label"),
        (
            "income,debts,region,repaid\n20,1,south,Yes\n",
            ": repaid: no row has the desired value 'yes'; values are Yes",
        ),
        (
            "income,debts,region,repaid\n20,1,south,yes\n20,1,south,no\n20,1,south,Yes\n",
            ":4: repaid: 'Yes' is not 'yes', and would count as the other outcome: write them alike",
        ),
        ('income,debts,region,repaid\n20,1,"sou"th,yes\n', ":2: not CSV:"),
        (b"income,debts,region,repaid\n20,1,s\xfcd,yes\n", ": not UTF-8 text"),
    ],
)
def test_an_error_names_the_line_and_the_column(tmp_path, text, message):
    file = written(tmp_path, text)
    with pytest.raises(TableError) as caught:
        read_table(file, SPEC)
    assert str(caught.value).startswith(f"{file}{message}")


def test_the_first_wrong_rows_are_listed_and_the_rest_are_counted(tmp_path):
    row, problem = "120,1,south,yes\n", "income: 120 is outside 0 to 100"
    file = written(tmp_path, "income,debts,region,repaid\n20,1,south,yes\n" + row * 3)
    with pytest.raises(TableError) as caught:
        read_table(file, SPEC)
    assert str(caught.value).splitlines() == [f"{file}:{line}: {problem}" for line in (3, 4, 5)]
    file = written(tmp_path, "income,debts,region,repaid\n" + row * 1000)
    with pytest.raises(TableError) as caught:
        read_table(file, SPEC)
    *listed, more = str(caught.value).splitlines()
    assert listed == [f"{file}:{line}: {problem}" for line in range(2, 12)]
    assert more == f"{file}: 990 more such problems"


FILLED = parse_spec(
    b"""\
program: loan
features:
  - {name: income, type: continuous, bounds: [0, 100], missing: 20}
  - {name: debts, type: integer, bounds: [0, 10], missing: 3}
  - {name: region, type: categorical, categories: [north, south], missing: south}
label: {name: repaid, desired: 'yes'}
model: {manifest: m}
"""
)


@pytest.mark.parametrize(
    "text",
    [
        "income,debts,region,repaid\n,n/a,,yes\n2.5,0,north,no\n",
        "income,debts,region:north,region:south,repaid\nNaN,?, ,,yes\n2.5,0,1,0,no\n",
    ],
)
def test_an_empty_cell_is_read_as_the_value_that_the_spec_gives(tmp_path, text):
    table = read_table(written(tmp_path, text), FILLED)
    assert table.rows == ROWS
    assert table.X.tolist() == [[0.2, 0.3, 0, 1], [0.025, 0, 1, 0]]


def test_an_absent_file_is_an_error(tmp_path):
    with pytest.raises(TableError, match="cannot be read: No such file"):
        read_table(tmp_path / "absent.csv", SPEC)


@needs_shared
@pytest.mark.parametrize("name", DATA_SETS)
def test_the_data_sets_are_scaled_by_their_minimum_and_maximum(name):
    spec, table = data_set(name)
    with (SHARED / "data" / f"{name}.csv").open() as stream:
        header = next(csv.reader(stream))
        raw = np.loadtxt(stream, delimiter=",")
    label = header.index(spec.label.name)
    features = np.delete(raw, label, axis=1)
    low, high = features.min(axis=0), features.max(axis=0)
    assert np.array_equal(table.X, (features - low) / (high - low))
    assert np.array_equal(table.labels, raw[:, label])


@needs_shared
@pytest.mark.parametrize("name", DATA_SETS)
def test_the_reference_worlds_are_made_of_encoded_rows(name):
    spec, table = data_set(name)
    known = {vector.tobytes() for vector in table.X}
    with np.load(SHARED / "reference" / "arlim" / f"{name}_rf_seed0.npz") as world:
        assert {vector.tobytes() for vector in (*world["X"], *world["CF"])} <= known
        immutable = [feature.mutable == "none" for feature in spec.features]
        columns = [
            feature for feature, fixed in zip(spec.features, immutable, strict=True) for _ in feature.one_hot or [0]
        ]
        assert [feature.mutable == "none" for feature in columns] == world["immutable"].tolist()


@pytest.mark.parametrize("of_spec", ["NFC", "NFD"])
@pytest.mark.parametrize("of_file", ["NFC", "NFD"])
def test_a_file_in_any_normal_form_has_the_columns_and_categories_of_the_spec(tmp_path, of_spec, of_file):
    text = """\
program: loan
features: [{name: région, type: categorical, categories: [Nîmes, Orléans]}]
label: {name: remboursé, desired: payé}
model: {manifest: m}
"""
    spec = parse_spec(unicodedata.normalize(of_spec, text).encode())
    file = written(tmp_path, unicodedata.normalize(of_file, "région,remboursé\nOrléans,payé\nNîmes,non\n"))
    table = read_table(file, spec)
    assert table.labels.tolist() == [1, 0]
    assert table.rows[0] == {spec.features[0].name: spec.features[0].categories[1]}

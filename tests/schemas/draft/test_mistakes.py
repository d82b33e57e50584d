"""A draft neither changes a type nor drops a column in silence where a cell is a mistake."""

import doctest
import importlib

import pytest
from msgspec.structs import replace

from onward.schemas.draft import draft_spec
from onward.schemas.draft.bands import bands_of
from onward.schemas.draft.columns import Column
from onward.schemas.draft.mistakes import spellings
from onward.schemas.spec import ProgramSpec
from onward.schemas.specfile import parse_spec
from onward.schemas.table import TableError, read_table

ROWS = 100


def written(folder, cells, *, head="", delimiter=",", name="debts", others=None):
    """A file with one column of cells, an income and a label that nothing tells."""
    file = folder / "data.csv"
    rows = [f'"{name}"{delimiter}income{delimiter}y']
    rows += [f"{cell}{delimiter}{500 + 37 * i % 900}{delimiter}{i * i % 7 % 2}" for i, cell in enumerate(cells)]
    file.write_text(head + "\n".join(rows), encoding="utf-8")
    return file


def drafted(file):
    draft = draft_spec(file, "y")
    spec = parse_spec(draft.text.replace("desired: undecided", "desired: 1").encode())
    assert isinstance(spec, ProgramSpec), spec
    return draft, {feature.name: feature for feature in spec.features}, spec


@pytest.mark.parametrize(
    ("cell", "told"),
    [
        ("two", "'two' is not a number, among numbers"),
        ("inf", "'inf' is not finite, among numbers"),
        ("-Infinity", "'-Infinity' is not finite, among numbers"),
        ("1.200.000", "'1.200.000' has a dot: write 1200000 if"),
        ("k.A.", "'k.A.' is not a number, among numbers"),
    ],
)
def test_a_text_among_numbers_is_a_mistake_in_a_named_line(tmp_path, cell, told):
    file = written(tmp_path, [cell if i == 40 else i % 19 for i in range(ROWS)])
    with pytest.raises(TableError) as caught:
        draft_spec(file, "y")
    assert str(caught.value).startswith(f"{file}:42: debts: {told}")


def test_what_stands_for_no_value_is_no_mistake_and_most_texts_are_texts(tmp_path):
    for word in ("NA", "?", "none", "Unknown", ""):
        _, features, _ = drafted(written(tmp_path, [word if i % 11 == 4 else i % 19 for i in range(ROWS)]))
        assert (features["debts"].type, features["debts"].missing) == ("integer", 8)
    _, features, _ = drafted(written(tmp_path, ["few" if i % 3 else i % 4 for i in range(ROWS)]))
    assert features["debts"].type == "categorical"


def test_texts_for_no_value_are_no_categories_and_none_is_one(tmp_path):
    words = ["clerk", "none", "nurse", "clerk", "none", "nurse", "clerk", "?", "nan", "Unknown"]
    cells = [words[i % 10 if i % 3 else i % 7] for i in range(ROWS)]
    _, features, spec = drafted(file := written(tmp_path, cells, name="job"))
    assert features["job"].categories == ("clerk", "none", "nurse")
    assert features["job"].missing == "clerk"
    found = {row["job"] for row, cell in zip(read_table(file, spec).rows, cells, strict=True) if cell in words[7:]}
    assert found == {"clerk"}


def test_a_column_that_is_no_feature_anyway_has_no_mistake(tmp_path):
    draft, features, _ = drafted(written(tmp_path, ["x1" if i == 40 else i for i in range(ROWS)], name="id"))
    assert "id" in draft.left_out
    assert "id" not in features


@pytest.mark.parametrize(
    ("cells", "is_clear"),
    [
        (["2.170", "890"], False),
        (["2.170", "5.870"], False),
        (["2.170", "0.890"], True),
        (["2.17", "890.125"], True),
        (["2.170", "12000"], True),
        (["2\u202f170", "890"], True),
        (["2\u00a0170", "890"], True),
        (["2 170", "890"], True),
        (["2'170", "890"], True),
    ],
)
def test_a_dot_that_may_separate_thousands_is_asked_for(tmp_path, cells, is_clear):
    number, other = cells
    file = written(tmp_path, [number if i % 3 else other.replace("0", str(i % 10)) for i in range(ROWS)])
    if is_clear:
        _, _, spec = drafted(file)
        values = {row["debts"] for row in read_table(file, spec).rows}
        assert values & {2170, 2.17}
        return
    with pytest.raises(TableError, match=r"debts: '[25].[18]70' has a dot: write [25][18]70 if that of .* thousands"):
        draft_spec(file, "y")
    wide = parse_spec(
        b"program: p\nlabel: {name: y}\nmodel: {manifest: m}\n"
        b"features: [{name: debts, type: continuous, bounds: [0, 9000]}]\n"
    )
    with pytest.raises(TableError, match=r":3: debts: '2.170' has a dot"):
        read_table(file, wide)
    # Bounds that hold no thousands say what the dot is.
    narrow = replace(wide, features=(replace(wide.features[0], bounds=(0.0, 1000.0)),))
    assert 2.17 in {row["debts"] for row in read_table(file, narrow).rows}


def test_spellings_that_look_the_same_are_told(tmp_path):
    jobs = ["CLERK", "Clerk", "clerk", "nurse", "self-employed", "self employed"]
    draft, features, _ = drafted(written(tmp_path, [jobs[i * 7 % 13 % 6] for i in range(ROWS)], name="job"))
    assert "'CLERK', 'Clerk', 'clerk' look the same: write them in one way" in draft.text
    assert features["job"].mutable == "none"
    assert spellings(Column("job", ("a", "b"))) == []


@pytest.mark.parametrize(
    ("head", "delimiter", "name"),
    [
        ("", ";", "income (EUR, net)"),
        ("sep=;\n", ";", "a"),
        ("sep=;\r\n", ";", "a,b"),
        ("", ";", "a|b, c"),
        ("", "\t", "a;b"),
        ("", ",", "a;b"),
    ],
)
def test_the_delimiter_gives_every_row_as_many_cells_as_the_header(tmp_path, head, delimiter, name):
    file = tmp_path / "data.csv"
    cell = "7" if delimiter == "," else "2,5"
    text = delimiter.join([name, "income", "y"]) + "\n" + (delimiter.join([cell, "9", "1"]) + "\n") * 3
    file.write_text(head + text, newline="")
    spec = parse_spec(
        b"program: p\nlabel: {name: y}\nmodel: {manifest: m}\n"
        b"features: [{name: income, type: continuous, bounds: [0, 90]}]\n"
    )
    assert [row["income"] for row in read_table(file, spec).rows] == [9] * 3
    file.write_text(head + text + delimiter.join(["7", "x", "0"]), newline="")
    with pytest.raises(TableError, match=f":{6 if head else 5}: income: 'x' is not a number"):
        read_table(file, spec)


@pytest.mark.parametrize(
    "bands",
    [
        ["<20k", "20k-40k", "40k-60k", ">60k"],
        ["0-500", "500-1000", "1000+"],
        ["under 25", "25-34", "35 to 64", "65 and over"],
        ["0", "1", "2", "3+"],
        ["$0 - $19,999", "$20,000 - $39,999", "$40,000 or more"],
        ["bis 1.000 EUR", "1.000 - 2.000 EUR", "mehr als 2.000 EUR"],
        ["\u226410", "11\u201320", "\u226521"],
    ],
)
def test_bands_are_levels_in_their_order(bands):
    assert bands_of(reversed(bands)) == bands


@pytest.mark.parametrize(
    "texts",
    [
        ["1", "2"],
        ["A11", "A12"],
        ["2 rooms", "3 rooms"],
        ["0-10", "5-20"],
        ["2020-01", "2020-02"],
        ["0-9", "many"],
        ["<5"],
    ],
)
def test_other_texts_are_no_bands(texts):
    assert bands_of(texts) is None


@pytest.mark.parametrize("name", ["draft.bands", "draft.codes", "draft.mistakes", "number_text"])
def test_the_examples_hold(name):
    tried = doctest.testmod(importlib.import_module(f"onward.schemas.{name}"))
    assert tried.attempted
    assert not tried.failed


def test_bands_of_incomes_are_incomes(tmp_path):
    bands = ["<20k", "20k-40k", "40k-60k", ">60k"]
    rows = [(bands[i * 7 % 13 % 4], int(i * 7 % 13 % 4 + i % 3 > 2)) for i in range(400)]
    file = tmp_path / "data.csv"
    for name, mutable in (("income_band", "up"), ("debts", "down"), ("minority income band", "none")):
        file.write_text(f"{name},repaid\n" + "\n".join(f"{band},{label}" for band, label in rows))
        text = draft_spec(file, "repaid").text
        assert 'levels: ["<20k", 20k-40k' in text.replace('"20k-40k"', "20k-40k")
        assert f", mutable: {mutable}}}" in text
        assert (", max_change: 1," in text) == (mutable != "none")
        # The label is known since higher incomes speak for its name, as numbers would.
        assert ("desired: 1}" in text) == (name == "income_band")


def test_rows_whose_label_is_not_given_are_counted_and_say_nothing(tmp_path):
    labels = ["NA" if i % 4 == 0 else str(i * i % 7 % 2) for i in range(ROWS)]
    file = tmp_path / "data.csv"
    file.write_text(
        "income,y\n"
        + "\n".join(f"{-9000 if label == 'NA' else 500 + i * 37 % 41},{label}" for i, label in enumerate(labels))
    )
    draft = draft_spec(file, "y")
    assert draft.unlabelled == 25
    assert "# 25 of 100 rows have no label. missing: unlabelled reads them" in draft.text
    assert "-9000" not in draft.text
    file.write_text("income,y\n" + "\n".join(f"{i},{'none' if i % 2 else 'late'}" for i in range(ROWS)))
    with pytest.raises(TableError, match=r"the label of 50 is not given, .*: write another word"):
        draft_spec(file, "y")

"""A file or spec with very many columns ends early, with one line."""

from __future__ import annotations

from time import process_time

import pytest

from onward.schemas.raw_table import MOST_COLUMNS, TableError, read_csv
from onward.schemas.yamltree import MAX_VALUES, YamlDocument

COLUMNS = 100_000
MOST_SECONDS = 30
"""An unlimited reader takes minutes."""


@pytest.mark.attack
def test_a_csv_of_100_000_columns_is_refused(tmp_path):
    file = tmp_path / "wide.csv"
    file.write_text(",".join(f"c{number}" for number in range(COLUMNS)) + "\n")
    began = process_time()
    with pytest.raises(TableError, match=f"100,000 columns, {MOST_COLUMNS:,} at most"):
        read_csv(file)
    assert process_time() - began < MOST_SECONDS


@pytest.mark.attack
def test_a_spec_of_100_000_features_is_refused_early():
    text = "features:\n" + "".join(f"- {{name: c{number}, type: continuous}}\n" for number in range(COLUMNS))
    began = process_time()
    [problem] = YamlDocument(text.encode()).problems
    assert problem.message == f"more than {MAX_VALUES} values"
    assert process_time() - began < MOST_SECONDS

from pathlib import Path

import pytest

from onward.schemas.specfile import check_file
from onward.streams.cli.spec import check, draft
from onward.streams.errors import UsageError

CREDIT = Path(__file__).parents[3] / "environments" / "specs" / "credit.yaml"


def test_check_sums_a_good_spec_up_and_explains_a_bad_one(tmp_path, capsys):
    bad = tmp_path / "bad.yaml"
    bad.write_text(CREDIT.read_text().replace("bounds: [0, 36]", "bounds: [36, 0]").replace("desired: 1", "desird: 1"))
    assert check([CREDIT]) == 0
    assert "program credit: 13 features (10 mutable) in 13 columns, policy linucb" in capsys.readouterr().out
    assert check([CREDIT, bad]) == 2
    streams = capsys.readouterr()
    assert streams.out.count("\n") == 1
    assert streams.err == f"{bad}:18:33: label.desird: unknown key (did you mean desired?)\n"


def test_draft_writes_a_good_spec_and_never_over_a_file(tmp_path, capsys):
    data, spec = tmp_path / "data.csv", tmp_path / "spec.yaml"
    data.write_text("income,y\n1,0\n2,1\n")
    assert draft(data, "y", None) == 0
    printed = capsys.readouterr().out
    assert draft(data, "y", spec) == 0
    assert spec.read_text() == printed
    assert check_file(spec) == []
    with pytest.raises(UsageError, match="exists already"):
        draft(data, "y", spec)
    with pytest.raises(UsageError, match="z: no such column"):
        draft(data, "z", None)
    with pytest.raises(UsageError, match="cannot be written"):
        draft(data, "y", tmp_path / "absent" / "spec.yaml")

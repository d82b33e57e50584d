"""The steps of docs/how-to/labels-of-approved-people.md, run in order."""

import contextlib
import io
import re
import shlex
from pathlib import Path

import pytest

from onward.schemas.specfile import load_spec
from onward.streams.cli import main
from onward.tests.streams.programs.training.test_selected import write_selected

PAGE = Path(__file__).parents[1] / "docs" / "how-to" / "labels-of-approved-people.md"


def test_the_steps_of_the_page_read_rows_without_a_label(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    count = write_selected(tmp_path / "loans.csv")
    monkeypatch.chdir(tmp_path)
    text = PAGE.read_text(encoding="utf-8")
    [drafting, training] = re.findall(r"^```sh\n(.*?)\n^```", text, re.M | re.S)
    printed, told = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(printed), contextlib.redirect_stderr(told):
        assert main(shlex.split(drafting)[1:]) == 0
        drafted = Path("loans.yaml").read_text()
        [line] = re.findall(r"^```yaml\n(.*?)\n^```", text, re.M | re.S)
        assert line in drafted
        # What people can change is said by people.
        opened = drafted.replace("mutable: none}  # undecided", "mutable: up}  # undecided")
        Path("loans.yaml").write_text(opened)
        assert load_spec("loans.yaml").spec.label.missing == "unlabelled"
        assert main(shlex.split(training)[1:]) == 0
    assert f"{count} rows without a label are read" in told.getvalue()
    assert "labels seem to be of approved people only" in told.getvalue()
    assert "all of these have a label" in printed.getvalue()

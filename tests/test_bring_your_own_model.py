"""The steps of docs/how-to/bring-your-own-model.md, run in order."""

import contextlib
import io
import re
import shlex
import warnings
from pathlib import Path

import pytest

from onward.streams.cli import main
from onward.tests.support.loans import write_loans

PAGE = Path(__file__).parents[1] / "docs" / "how-to" / "bring-your-own-model.md"


def steps() -> list[tuple[str, str]]:
    """Every block of the page: its language and its text."""
    return re.findall(r"^```(sh|python)\n(.*?)^```", PAGE.read_text(encoding="utf-8"), re.M | re.S)


def test_the_steps_of_the_page_lead_to_options_in_words(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_loans(tmp_path / "loans.csv")
    monkeypatch.chdir(tmp_path)
    printed = io.StringIO()
    found = steps()
    assert [language for language, _ in found] == ["sh", "python", "sh", "sh"]
    with contextlib.redirect_stdout(printed), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of the libraries that fit and export
        for language, text in found:
            if language == "python":
                exec(text, {})
            for line in text.splitlines() if language == "sh" else ():
                assert main(shlex.split(line)[1:]) == 0, line
    told = printed.getvalue()
    assert "loans: model onnx-" in told
    assert re.search(r"^\d+: 1 way forward\n  1\. .*Raise income: from \d+ to \d+", told, re.M)

"""What the page on asking people shows is what happens: its specs, its commands and its Python."""

from __future__ import annotations

import io
import re
import shlex
from contextlib import redirect_stdout
from pathlib import Path

import msgspec
import pytest

from onward.schemas.events import Answer
from onward.streams.cli import main
from onward.tests.support.loans import reviewed_spec, write_loans

PAGE = (Path(__file__).parents[1] / "docs" / "how-to" / "ask-people.md").read_text(encoding="utf-8")
PLAIN = "policy: {objective: cost, generator: search, choice: protoar, options: 3}\n"


def blocks(language: str) -> list[str]:
    found = re.findall(rf"^```{language}\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
    assert found
    return [str(block) for block in found]


def digits_out(text: str) -> str:
    return re.sub(r"\d+", "N", text)


@pytest.mark.parametrize("section", range(2))
def test_the_page_is_what_happens(
    section: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    write_loans(Path("loans.csv"))
    Path("people.csv").write_text("name,income,debts,region\nada,35,6,north\n")
    answer, prior = blocks("json")
    assert msgspec.json.decode(answer, type=Answer).question == 1
    Path("prior.json").write_text(prior)
    spec = reviewed_spec()
    assert PLAIN in spec
    spec = spec.replace(PLAIN, blocks("yaml")[section]).replace("mutable: down}", "mutable: down, largest_step: 2}")
    Path("loans.yaml").write_text(spec)
    commands = [line.strip() for line in re.findall(r"^    (onward .*)$", PAGE, re.MULTILINE)]
    assert [command.split()[1] for command in commands] == ["spec", "train", "suggest"]
    for command in commands:
        monkeypatch.setattr("sys.stdin", io.StringIO("2\n1\n2\n"))
        assert main(shlex.split(command)[1:]) == 0
    told = capsys.readouterr()
    assert told.out.rstrip().split("ada: ")[-1].count("(cost ") >= 1
    with redirect_stdout(io.StringIO()) as printed:
        exec(compile(blocks("python")[0], "ask-people.md", "exec"), {})
    assert printed.getvalue().startswith("Question 1: which of these would be easier for you?")
    assert re.search(r"^0: \d ways? forward\b", printed.getvalue(), re.MULTILINE)
    if section == 1:
        (shown,) = re.findall(r"^    (ada: .*\n    .*\n)", PAGE, re.MULTILINE)
        assert digits_out(shown.replace("\n    ", "\n")) in digits_out(told.out)

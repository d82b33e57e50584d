import re
import textwrap
from pathlib import Path
from typing import Any

DOCS = Path(__file__).parents[2] / "docs"


def program(page: str) -> str:
    usage = page[page.index("## Usage\n") + len("## Usage\n") :]
    return textwrap.dedent(re.search(r"(?:^ {4}.*\n|^\n)+", usage, re.MULTILINE)[0])


def test_the_program_of_the_page_prints_what_the_page_says(capsys):
    page = (DOCS / "improvement.md").read_text()
    exec(program(page), {})
    printed = re.sub(r"(\d+\.\d{4})\d*", r"\1", capsys.readouterr().out.strip())
    assert f"    {printed}\n" in page


def test_the_program_of_the_page_on_worlds_builds_a_world():
    names: dict[str, Any] = {}
    exec(program((DOCS / "worlds.md").read_text()), names)
    assert names["world"].people == names["world"].rejected == 1000

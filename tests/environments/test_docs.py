import re
import textwrap
from pathlib import Path

PAGE = Path(__file__).parents[2] / "docs" / "improvement.md"


def test_the_program_of_the_page_prints_what_the_page_says(capsys):
    page = PAGE.read_text()
    program = re.search(r"(?:^ {4}.*\n|^\n)+", page[page.index("## Usage\n") + len("## Usage\n") :], re.MULTILINE)[0]
    exec(textwrap.dedent(program), {})
    printed = re.sub(r"(\d+\.\d{4})\d*", r"\1", capsys.readouterr().out.strip())
    assert f"    {printed}\n" in page

"""What README and docs point at is there."""

import ast
import re
from collections import Counter
from pathlib import Path

import pytest

from onward.agents import choices
from onward.streams.engine.handlers import Handler
from onward.streams.topics import Topics

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
PAGES = [*sorted(ROOT.glob("*.md")), *sorted(DOCS.rglob("*.md"))]
MOST_WORDS_OF_A_PAGE = 1_500
FOLDERS = ("agents", "benchmarks", "deploy", "environments", "schemas", "streams", "testing", "tests")


def code(text: str) -> str:
    """The blocks and spans of code."""
    blocks = re.findall(r"^```.*?^```|^ {4}.*?$", text, re.MULTILINE | re.DOTALL)
    return "\n".join([*blocks, *re.findall(r"`([^`\n]+)`", text)])


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_link_and_every_page_named_is_there(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    links = [link.partition("#")[0] for link in re.findall(r"\]\(([^)\s]+)\)", text) if "://" not in link]
    missing = [link for link in links if link and not (page.parent / link).exists()]
    named = re.findall(r"`(docs/[\w./-]+)`", text)
    assert not missing + [name for name in named if not (ROOT / name).exists()]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_path_in_our_folders_is_there(page: Path) -> None:
    spans = re.findall(r"`([^`\s]+)`", page.read_text(encoding="utf-8"))
    named = [span for span in spans if re.match(rf"(?:{'|'.join(FOLDERS)})/[\w./-]*$", span)]
    assert not [name for name in named if not (ROOT / name).exists()]


def test_every_file_that_the_map_names_without_its_folder_is_beside_one_that_it_names_before() -> None:
    for row in (DOCS / "reference" / "where.md").read_text(encoding="utf-8").splitlines():
        folders: list[Path] = []
        for span in re.findall(r"`([\w./-]+(?:\.py|/))`", row):
            places = [ROOT, *folders]
            assert any((place / span).exists() for place in places), f"{span} of: {row}"
            path = ROOT / span
            folders += [path, *path.parents[:2]] if path.exists() else []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_anchor_is_a_heading(page: Path) -> None:
    for target, anchor in re.findall(r"\]\(([\w./-]*)#([^)\s]+)\)", page.read_text(encoding="utf-8")):
        there = (page.parent / target if target else page).read_text(encoding="utf-8")
        headings = re.findall(r"^#+ (.*)$", there, re.MULTILINE)
        assert anchor in [re.sub(r"[^\w\- ]", "", heading).lower().replace(" ", "-") for heading in headings]


def test_every_page_named_in_the_code_is_there() -> None:
    sources = [
        path
        for folder in FOLDERS
        for path in (ROOT / folder).rglob("*")
        if path.suffix in (".py", ".yml", ".yaml", ".json")
    ]
    texts = (path.read_text(encoding="utf-8") for path in [*sources, ROOT / "__init__.py", ROOT / "Makefile"])
    named = {name for text in texts for name in re.findall(r"\bdocs/[\w./-]+\.md\b", text)}
    assert named
    assert not [name for name in sorted(named) if not (ROOT / name).exists()]


def test_the_pages_to_be_read_are_short() -> None:
    words = {page.relative_to(DOCS): len(page.read_text(encoding="utf-8").split()) for page in DOCS.rglob("*.md")}
    assert not [str(page) for page, n in words.items() if page.parts[0] != "reference" and n > MOST_WORDS_OF_A_PAGE]


def test_every_page_has_one_place_on_the_map() -> None:
    there = DOCS / "README.md"
    named = Counter(re.findall(r"\]\(([\w./-]+\.md)\)", there.read_text(encoding="utf-8")))
    pages = {str(page.relative_to(DOCS)) for page in DOCS.rglob("*.md")} - {there.name}
    assert named == dict.fromkeys(pages, 1)


def test_the_methods_of_a_handler_are_named_as_they_are() -> None:
    page = (DOCS / "how-to" / "add-an-input.md").read_text(encoding="utf-8")
    named = re.findall(r"`(\w+)", "".join(re.findall(r"^\| (`[^|]*)\|", page, re.MULTILINE)))
    assert {"touch", "apply", "give_up"} < set(named)
    assert not [name for name in named if not hasattr(Handler, name)]


def test_the_rights_of_a_worker_name_every_topic() -> None:
    page = (DOCS / "reference" / "kafka-rights.md").read_text(encoding="utf-8")
    reads, writes = re.findall(r"^\| (?:worker)? *\| topics (.*?) \| (?:READ|READ, WRITE)\b", page, re.MULTILINE)
    topics = Topics()
    assert re.findall(r"`([\w-]+)`", reads) == list(topics.inputs)
    assert re.findall(r"`([\w-]+)`", writes) == [topics.journal, *topics.outputs]


def test_the_readme_names_choices_that_there_are_with_all_that_are_drafted() -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    (table,) = re.findall(r"^\| `policy.choice` .*\n((?:\|.*\n)+)", readme, re.MULTILINE)
    assert {"stages", "residual", "posterior"} < set(re.findall(r"\[`(\w+)`\]", table)) <= choices.registry.keys()


def test_every_target_of_make_that_is_named_exists() -> None:
    targets = re.findall(r"^([a-z-]+)(%?):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE)
    whole = {name for name, pattern in targets if not pattern}
    prefixes = tuple(name for name, pattern in targets if pattern)
    named = {name for page in PAGES for name in re.findall(r"\bmake ([a-z][\w-]*)", code(page.read_text()))}
    assert named
    assert not [name for name in named if name not in whole and not name.startswith(prefixes)]


def test_the_error_lines_of_ledgers_are_quoted_as_the_code_says_them() -> None:
    page = (ROOT / "docs" / "reference" / "exit-codes.md").read_text(encoding="utf-8")
    quoted = re.findall(r"^\| 4 \| `onward: ([^`]+)`", page, re.MULTILINE)
    # What stands for something is a word in capitals, a number, or left out.
    fixed = [max(re.split(r"\.\.\.|\b[A-Z]+\b|\d+", line), key=len).strip(" ':,({}") for line in quoted]
    trees = [ast.parse(path.read_text(encoding="utf-8")) for path in (ROOT / "streams").rglob("*.py")]
    constants = [node.value for tree in trees for node in ast.walk(tree) if isinstance(node, ast.Constant)]
    said = "\n".join(value for value in constants if isinstance(value, str))
    assert min(map(len, fixed), default=0) > 10
    assert not [part for part in fixed if part not in said]

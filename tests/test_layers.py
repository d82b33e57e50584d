"""Which part of the product may import which."""

import ast
from collections.abc import Iterator
from graphlib import TopologicalSorter
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PRODUCT = ("agents", "environments", "schemas", "streams", "testing")


def imported_files(path: Path) -> Iterator[Path]:
    """The files of the product that a file imports, in functions and for types too."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and node.level:
            place = path.parents[node.level - 1].joinpath(*(node.module or "").split("."))
            for name in (alias.name for alias in node.names):
                ways = (
                    place / f"{name}.py",
                    place / name / "__init__.py",
                    place.with_suffix(".py"),
                    place / "__init__.py",
                )
                yield next(way for way in ways if way.exists())


def test_only_the_commands_that_play_worlds_import_them() -> None:
    others = [path for top in PRODUCT if top != "environments" for path in (ROOT / top).rglob("*.py")]
    worlds = ROOT / "environments"
    using = {path.name for path in others if any(worlds in found.parents for found in imported_files(path))}
    assert using == {"demo.py", "simulate.py", "train_rl.py"}


LAYERS = {
    "schemas": {"schemas"},
    "agents": {"agents"},
    "streams": {"schemas", "agents", "streams"},
    "testing": {"schemas", "agents", "streams", "testing"},
}
"""What each part of the product may import of the others; what plays worlds is above."""


@pytest.mark.parametrize("part", LAYERS)
def test_each_part_imports_the_parts_below_it(part: str) -> None:
    outside = {ROOT / "environments"} if part == "streams" else set()
    found = {found for path in (ROOT / part).rglob("*.py") for found in imported_files(path)}
    parts = {path.relative_to(ROOT).parts[0] for path in found if not outside & set(path.parents)}
    assert part in parts
    assert parts - {"__init__.py"} == LAYERS[part]


def test_no_part_of_the_pipeline_imports_the_kit_for_tests() -> None:
    kit, files = ROOT / "testing", [path for top in PRODUCT if top != "testing" for path in (ROOT / top).rglob("*.py")]
    used = {found for path in (ROOT / "__init__.py", *files) for found in imported_files(path)}
    assert used
    assert not [path for path in used if kit in path.parents]


def test_no_file_imports_itself_by_way_of_others() -> None:
    files = [path for top in PRODUCT for path in (ROOT / top).rglob("*.py")]
    order = list(TopologicalSorter({path: set(imported_files(path)) for path in files}).static_order())
    assert len(order) > 100

import ast
import re
import tomllib
from collections.abc import Iterator, Sequence
from graphlib import TopologicalSorter
from importlib import metadata
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parents[1]
PRODUCT = ("agents", "environments", "schemas", "streams", "testing")
"""The folders in the wheel. Deployment, benchmarks, tests and the fault suite stay in the checkout."""
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))


def test_the_wheel_holds_every_package_of_the_product_and_no_other() -> None:
    folders = {path.parent.relative_to(ROOT) for top in PRODUCT for path in (ROOT / top).rglob("__init__.py")}
    found = {".".join(("onward", *folder.parts)) for folder in folders}
    assert found | {"onward"} == set(PROJECT["tool"]["setuptools"]["packages"])


def test_the_product_does_not_import_what_stays_in_the_checkout() -> None:
    outside = re.compile(r"^\s*(from|import) (onward\.|\.+)(benchmarks|tests|deploy)\b", re.MULTILINE)
    files = [path for top in PRODUCT for path in (ROOT / top).rglob("*.py")]
    assert len(files) > 100
    assert not [path for path in files if outside.search(path.read_text(encoding="utf-8"))]


def imported(folders: Sequence[str] = PRODUCT) -> Iterator[str]:
    """The outermost package of every absolute import of the product."""
    for path in (path for folder in folders for path in (ROOT / folder).rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Import):
                yield from (alias.name.partition(".")[0] for alias in node.names)
            elif isinstance(node, ast.ImportFrom) and not node.level:
                yield (node.module or "").partition(".")[0]


def test_what_the_product_imports_is_what_it_requires() -> None:
    names = metadata.packages_distributions()
    used = {canonicalize_name(names[module][0]) for module in imported() if module in names}
    project = PROJECT["project"]
    extras = project["optional-dependencies"]
    optional = [line for extra in ("onnx", "archive", "console") for line in extras[extra]]
    lines = [*project["dependencies"], *optional]
    required = {canonicalize_name(Requirement(line).name) for line in lines}
    trained_with = {canonicalize_name(Requirement(line).name) for line in extras["rl"]}
    assert used - trained_with == required  # torch is there after `make test-rl` only


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


def test_the_kit_for_tests_needs_nothing_that_only_tests_have() -> None:
    dev = {canonicalize_name(Requirement(line).name) for line in PROJECT["project"]["optional-dependencies"]["dev"]}
    names = metadata.packages_distributions()
    used = {canonicalize_name(names[module][0]) for module in imported(("testing",)) if module in names}
    assert used
    assert not used & dev


def test_no_file_imports_itself_by_way_of_others() -> None:
    files = [path for top in PRODUCT for path in (ROOT / top).rglob("*.py")]
    order = list(TopologicalSorter({path: set(imported_files(path)) for path in files}).static_order())
    assert len(order) > 100


def locked() -> dict[str, str]:
    lines = (ROOT / "requirements.lock").read_text(encoding="utf-8").splitlines()
    return dict(line.split("==", 1) for line in lines if line and not line.startswith("#"))


@pytest.mark.parametrize("extra", ["", "dev"])
def test_the_lock_meets_every_requirement(extra: str) -> None:
    versions = locked()
    project = PROJECT["project"]
    wanted = project["optional-dependencies"][extra] if extra else project["dependencies"]
    for requirement in map(Requirement, wanted):
        version = versions[canonicalize_name(requirement.name)]
        assert requirement.specifier.contains(version), f"{requirement}: {version} is locked"


def test_the_lock_names_no_place() -> None:
    text = (ROOT / "requirements.lock").read_text(encoding="utf-8")
    assert "://" not in text
    assert " @ " not in text
    assert metadata.version("onward")

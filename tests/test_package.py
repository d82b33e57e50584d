import ast
import re
import tomllib
from collections.abc import Iterator, Sequence
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


def test_the_kit_for_tests_needs_nothing_that_only_tests_have() -> None:
    dev = {canonicalize_name(Requirement(line).name) for line in PROJECT["project"]["optional-dependencies"]["dev"]}
    names = metadata.packages_distributions()
    used = {canonicalize_name(names[module][0]) for module in imported(("testing",)) if module in names}
    assert used
    assert not used & dev


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

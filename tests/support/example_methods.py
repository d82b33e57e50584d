"""The methods of docs/examples/methods, in their registries for a while."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType
from typing import Any

from onward.streams.programs.spec_check import ROOMS

EXAMPLES = Path(__file__).parents[2] / "docs" / "examples"
METHODS, OWN = EXAMPLES / "methods", EXAMPLES / "own"
NAMES = {
    ("policy", "choice"): "fewest_changes",
    ("policy", "improvement"): "one_regression",
    ("policy", "generator"): "one_feature",
    ("policy", "goal"): "margin",
    ("policy", "cost"): "feature_count",
    ("promise", "kind"): "distance",
}


def module_of(file: Path) -> ModuleType:
    """Run a file of the examples, which registers its method."""
    spec = spec_from_file_location(f"{file.parent.name}.{file.stem}", file)
    assert spec is not None, file
    assert spec.loader is not None, file
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def method_of(file: Path) -> Any:
    """The class of the method in a file of the examples, which no spec finds."""
    module = module_of(file)
    [(registry, method)] = [
        (registry, one) for registry in ROOMS.values() for one in registry.values() if one.__module__ == module.__name__
    ]
    registry.discard(method.name)
    return method


@contextmanager
def example_methods() -> Iterator[None]:
    """Register the methods, and take them out again."""
    for file in sorted(METHODS.glob("*.py")):
        module_of(file)
    try:
        yield
    finally:
        for place, name in NAMES.items():
            ROOMS[place].discard(name)

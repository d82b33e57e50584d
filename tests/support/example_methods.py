"""The methods of docs/examples/methods, in their registries for a while."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path

from onward.streams.programs.spec_check import ROOMS

METHODS = Path(__file__).parents[2] / "docs" / "examples" / "methods"
NAMES = {
    ("policy", "choice"): "fewest_changes",
    ("policy", "improvement"): "one_regression",
    ("policy", "generator"): "one_feature",
    ("policy", "goal"): "margin",
    ("policy", "cost"): "feature_count",
    ("promise", "kind"): "distance",
}


@contextmanager
def example_methods() -> Iterator[None]:
    """Register the methods, and take them out again."""
    for file in sorted(METHODS.glob("*.py")):
        spec = spec_from_file_location(f"methods.{file.stem}", file)
        assert spec is not None, file
        assert spec.loader is not None, file
        spec.loader.exec_module(module_from_spec(spec))
    try:
        yield
    finally:
        for place, name in NAMES.items():
            ROOMS[place].discard(name)

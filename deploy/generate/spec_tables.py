"""Writes the table of docs/spec.md from the code: ``python -m onward.deploy.generate.spec_tables``."""

from __future__ import annotations

from pathlib import Path

from .method_parameters import method_parameters
from .tables import table, with_tables

PAGE = Path(__file__).parents[2] / "docs" / "spec.md"


def with_current_tables(page: str) -> str:
    """The page with its table of the methods' parameters."""
    rows = [
        (f"`{field}`", ", ".join(f"`{method}`" for method in methods), f"{parameter}", f"{parameter.default}", meaning)
        for (field, parameter, meaning), methods in method_parameters().items()
    ]
    return with_tables(page, {"parameters": table(("field", "of", "value", "default", "meaning"), rows)})


if __name__ == "__main__":
    PAGE.write_text(with_current_tables(PAGE.read_text(encoding="utf-8")), encoding="utf-8")

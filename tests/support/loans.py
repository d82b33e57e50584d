"""Labelled data as users have it: the README's loans.csv, and its spec after people have reviewed it."""

import ast
import shutil
from pathlib import Path

EXAMPLES = Path(__file__).parents[2] / "docs" / "examples"
EXAMPLE, LOANS = EXAMPLES / "suggest.py", EXAMPLES / "loans.csv"


def reviewed_spec() -> str:
    """The ``SPEC`` of docs/examples/suggest.py."""
    for node in ast.parse(EXAMPLE.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "SPEC":
            return str(ast.literal_eval(node.value))
    raise ValueError(f"{EXAMPLE} has no SPEC")


def write_loans(path: Path) -> None:
    """Copy the example: 400 rows, of which a higher income and fewer debts make repayment more likely."""
    shutil.copyfile(LOANS, path)

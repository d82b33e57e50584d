"""Labelled data as users have it: the README's loans.csv, and its spec after people have reviewed it."""

import ast
import csv
import random
from pathlib import Path

EXAMPLE = Path(__file__).parents[2] / "docs" / "examples" / "suggest.py"


def reviewed_spec() -> str:
    """The ``SPEC`` of docs/examples/suggest.py."""
    for node in ast.parse(EXAMPLE.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "SPEC":
            return str(ast.literal_eval(node.value))
    raise ValueError(f"{EXAMPLE} has no SPEC")


def write_loans(path: Path) -> None:
    """Write 400 rows. A higher income and fewer debts make repayment more likely."""
    generator = random.Random(0)
    with path.open("w", newline="") as stream:
        writer = csv.writer(stream)
        writer.writerow(["income", "debts", "region", "repaid"])
        for _ in range(400):
            income, debts = generator.randint(10, 100), generator.randint(0, 9)
            repaid = int(income - 8 * debts + generator.gauss(0, 10) > 20)
            writer.writerow([income, debts, generator.choice(["north", "south"]), repaid])

"""The steps of docs/how-to/add-a-method.md, run in order in a checkout, with a program of the example's methods."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from onward.streams.cli import main
from onward.tests.support.loans import reviewed_spec, write_loans

ROOT = Path(__file__).parents[1]
PAGE = (ROOT / "docs" / "how-to" / "add-a-method.md").read_text(encoding="utf-8")


def blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """A folder with what the page names: the examples, a model, and a spec with the page's policy."""
    write_loans(tmp_path / "loans.csv")
    spec = tmp_path / "loans.yaml"
    spec.write_text(reviewed_spec())
    train = ["train", str(tmp_path / "loans.csv"), "--spec", str(spec), "--output", str(tmp_path / "model")]
    assert main([*train, "--estimator", "logistic_regression"]) == 0
    (policy,) = blocks("yaml")
    spec.write_text(re.sub(r"^policy: .*\n", policy, reviewed_spec(), flags=re.MULTILINE))
    for file in blocks("python"):
        (tmp_path / file.splitlines()[0].removeprefix("# ")).write_text(file)
    (tmp_path / "docs").symlink_to(ROOT / "docs")
    (tmp_path / ".venv").symlink_to(Path(sys.executable).parents[1])
    return tmp_path


def test_the_example_keeps_the_contracts_and_answers_people(checkout: Path) -> None:
    done = subprocess.run(["bash", "-euc", "".join(blocks("sh"))], cwd=checkout, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    assert re.search(
        r"^\d+: 1 way forward until .*\n  1\. raise income from \d+ to 100 kEUR ", done.stdout, re.MULTILINE
    )

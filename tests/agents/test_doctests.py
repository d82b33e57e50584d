"""The examples in the documentation of methods run, and every method has one."""

from __future__ import annotations

import doctest
import pkgutil
import re
from importlib import import_module
from pathlib import Path

import pytest

import onward.agents
import onward.benchmarks.improvement.choices
import onward.benchmarks.robustness
from onward.agents.choices import registry

DOCS = Path(__file__).parents[2] / "docs"
ROOMS = onward.agents, onward.benchmarks.improvement.choices, onward.benchmarks.robustness
MODULES = [
    *(found.name for room in ROOMS for found in pkgutil.walk_packages(room.__path__, f"{room.__name__}.")),
    "onward.benchmarks.elicitation.utility",
]


@pytest.mark.parametrize("name", MODULES)
def test_examples_run(name: str) -> None:
    assert doctest.testmod(import_module(name)).failed == 0


@pytest.mark.parametrize("name", sorted(registry))
def test_every_choice_has_an_example(name: str) -> None:
    assert ">>> " in (registry[name].__doc__ or "")


@pytest.mark.parametrize("page", sorted(registry))
def test_examples_of_the_pages_run(page: str) -> None:
    blocks = re.findall(r"```python\n(.*?)```", (DOCS / f"{page}.md").read_text(), re.DOTALL)
    assert blocks
    for block in blocks:
        *statements, last = [line for line in block.splitlines() if line and not line.startswith("#")]
        expected = re.search(r"^# (Pick\(.*\))$", block, re.MULTILINE)
        names: dict[str, object] = {}
        exec("\n".join(statements), names)
        if expected:
            assert repr(eval(last, names)) == expected[1]
        else:
            exec(last, names)

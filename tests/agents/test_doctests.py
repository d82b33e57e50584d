"""The examples in the documentation of agents/ run, and every method has one."""

from __future__ import annotations

import doctest
import pkgutil
from importlib import import_module

import pytest

import onward.agents
from onward.agents.choices import registry

MODULES = [module.name for module in pkgutil.walk_packages(onward.agents.__path__, "onward.agents.")]


@pytest.mark.parametrize("name", MODULES)
def test_examples_run(name: str) -> None:
    assert doctest.testmod(import_module(name)).failed == 0


@pytest.mark.parametrize("name", sorted(registry))
def test_every_choice_has_an_example(name: str) -> None:
    assert ">>> " in (registry[name].__doc__ or "")

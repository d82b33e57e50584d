"""Who names a method that has left Onward is told in one line what to name instead."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

import onward
from onward.streams.cli import main
from onward.streams.programs.former_methods import FORMER
from onward.streams.programs.spec_check import ROOMS
from onward.tests.support.packaged_specs import text_alone

CREDIT = Path(__file__).parents[3] / "environments" / "specs" / "credit.yaml"
NAMED = [(field, name, instead) for (_, field), names in FORMER.items() for name, instead in names.items()]


@pytest.fixture(autouse=True)
def without_the_benchmarks() -> Iterator[None]:
    """Methods that the benchmarks have registered in this process are not there for users."""
    taken = [(registry, name) for room, registry in ROOMS.items() for name in FORMER.get(room, {}) if name in registry]
    methods = [(registry, registry[name]) for registry, name in taken]
    for registry, name in taken:
        registry.discard(name)
    yield
    for registry, method in methods:
        registry.add(method)


@pytest.mark.parametrize(("field", "name", "instead"), NAMED)
def test_a_spec_with_its_name_is_refused(
    field: str, name: str, instead: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    spec = tmp_path / "spec.yaml"
    spec.write_text(f"{text_alone(CREDIT)}policy: {{{field}: {name}}}\n")
    says = f"policy.{field}: {name!r} was a {field} for comparisons and left Onward: use `{instead}`"
    state = ["--state-dir", str(tmp_path), "--brokers", "localhost:1"]
    for command in (["spec", "check", str(spec)], ["worker", "--spec", str(spec), *state]):
        assert main(command) == 2
        (line,) = capsys.readouterr().err.splitlines()
        assert line.endswith(says)
    with pytest.raises(onward.OnwardError, match=f"left Onward: use `{instead}`"):
        onward.load_program(spec)


def test_what_is_named_instead_is_there() -> None:
    for room, names in FORMER.items():
        assert set(names.values()) <= ROOMS[room].keys()

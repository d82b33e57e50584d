from collections.abc import Iterator
from importlib import import_module

import pytest

from onward.deploy.generate.page_tables import REFERENCE, pages
from onward.streams.cli import COMMANDS
from onward.streams.settings import Settings, WorkerSettings


def test_the_tables_of_the_pages_are_current() -> None:
    """Each parameter of each method is described in its docstring, else there is no table."""
    for page, text in pages().items():
        assert page.read_text(encoding="utf-8") == text, "run: make generate"


def settings_of(command: str) -> Iterator[type[Settings]]:
    """The settings of a command or of its actions: those that no other class of its file adds to."""
    module = import_module(f"onward.streams.cli.{command.replace('-', '_')}")
    own = [kind for kind in vars(module).values() if isinstance(kind, type) and issubclass(kind, Settings)]
    own = [kind for kind in own if kind.__module__ == module.__name__] or [WorkerSettings]
    yield from (kind for kind in own if not any(kind in other.__mro__[1:] for other in own))


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_has_its_flags_in_the_reference(command: str) -> None:
    text = (REFERENCE / "commands.md").read_text(encoding="utf-8")
    assert f"`onward {command}" in text
    for kind in settings_of(command):
        place = kind.__module__.removeprefix("onward.streams.")
        assert f"<!-- settings {place}.{kind.__name__} -->" in text

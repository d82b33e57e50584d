"""Flags of the commands: argparse with one-line errors, and settings classes as command lines."""

from __future__ import annotations

import argparse
import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NoReturn, TypeVar

from pydantic import ValidationError
from pydantic_settings import CliApp, CliSettingsSource, SettingsError

from ..errors import UsageError
from ..settings import BrokerSettings

S = TypeVar("S", bound=BrokerSettings)

METAVARS = {
    "tuple[str,...]": "A,B",
    "tuple[Path,...]": "FILE",
    "Path": "PATH",
    "SecretStr": "SECRET",
    "str": "TEXT",
    "int": "N",
    "float": "N",
}
METAVARS_OF = {"--parameter": "NAME=NUMBER"}
"""Of flags whose type says too little."""

NO_DEFAULTS = (" (default: ())", " (default: None)", " (default: )")
PLAIN = str.maketrans("", "", "' ")
TUPLE_DEFAULT = re.compile(r"\(default: \(([^)]+)\)\)")


class CommandParser(argparse.ArgumentParser):
    """An argument parser whose errors are ``UsageError`` (exit code 2, one line) instead of a printed usage."""

    def __init__(self, **options: Any) -> None:
        super().__init__(allow_abbrev=False, **options)

    def error(self, message: str) -> NoReturn:
        """Raise ``UsageError``."""
        raise UsageError(f"{message} (see `{self.prog} --help`)")


def parse_settings(settings: type[S], prog: str, description: str, args: Sequence[str]) -> S:
    """The settings from flags and environment, flags first; ``UsageError`` names every wrong one in one line."""
    parser = CommandParser(prog=prog, description=description)
    source = CliSettingsSource[Any](settings, root_parser=parser, add_argument_method=_add_argument)
    try:
        return CliApp.run(settings, cli_args=list(args), cli_settings_source=source)
    except SettingsError as error:
        raise UsageError(str(error)) from error
    except ValidationError as error:
        raise UsageError("; ".join(_explained(settings, error.errors()))) from None


def _add_argument(container: argparse.ArgumentParser, *names: str, **options: Any) -> argparse.Action:
    """Add a flag with the type's name as people know it, and without a default that says nothing."""
    metavar = options.get("metavar")
    if metavar is not None:
        options["metavar"] = METAVARS_OF.get(names[-1]) or METAVARS.get(metavar, metavar)
    for default in NO_DEFAULTS:
        options["help"] = options["help"].replace(default, "")
    options["help"] = TUPLE_DEFAULT.sub(lambda found: f"(default: {found[1].translate(PLAIN)})", options["help"])
    return container.add_argument(*names, **options)


def missing(*names: str) -> str:
    """The words for settings that must be given and are not."""
    flags, variables = (_listed(form(name) for name in names) for form in (_flag, _variable))
    verb, pronoun = ("is", "it") if len(names) == 1 else ("are", "them")
    return f"{flags} {verb} missing: give {pronoun}, or set {variables}"


def _flag(name: str) -> str:
    return f"--{name.replace('_', '-')}"


def _variable(name: str) -> str:
    return f"ONWARD_{name.upper()}"


def _listed(words: Iterable[str]) -> str:
    *first, last = words
    return f"{', '.join(first)} and {last}" if first else last


def _explained(settings: type[BrokerSettings], problems: Sequence[Any]) -> Iterator[str]:
    absent = [str(problem["loc"][0]) for problem in problems if problem["type"] == "missing"]
    if absent:
        yield missing(*absent)
    for problem in problems:
        if problem["type"] != "missing":
            yield _explain(settings, problem)


def _explain(settings: type[BrokerSettings], problem: Any) -> str:
    if not problem["loc"]:
        return str(problem["msg"]).removeprefix("Value error, ")
    name = str(problem["loc"][0])
    shown = "" if "Secret" in str(settings.names()[name].annotation) else f" (it is {problem['input']!r})"
    message = str(problem["msg"])
    return f"{_flag(name)} or {_variable(name)}: {message[0].lower()}{message[1:]}{shown}"

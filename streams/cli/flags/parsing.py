"""Flags of the commands: argparse with one-line errors, and settings classes as command lines."""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from difflib import get_close_matches
from functools import partial
from itertools import takewhile
from typing import Any, NoReturn, TypeVar

from pydantic import ValidationError
from pydantic_settings import CliApp, CliSettingsSource, SettingsError

from ...errors import UsageError
from ...settings import Settings
from ...settings.fields import COMMA, Metavar, is_positional

S = TypeVar("S", bound=Settings)

METAVARS = {
    "tuple[str,...]": "A,B",
    "tuple[Path,...]": "FILE",
    "Path": "PATH",
    "SecretStr": "SECRET",
    "str": "TEXT",
    "int": "N",
    "float": "N",
    "timedelta": "DURATION",
}

EMPTY_DEFAULTS = (" (default: ())", " (default: None)", " (default: )")
QUOTES_AND_SPACES = str.maketrans("", "", "' ")
TUPLE_DEFAULT = re.compile(r"\(default: \(([^()]+)\)\)")


class CommandParser(argparse.ArgumentParser):
    """An argument parser whose errors are ``UsageError`` (exit code 2, one line) instead of a printed usage."""

    def __init__(self, **options: Any) -> None:
        super().__init__(allow_abbrev=False, **options)

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:
        """The same, but a flag that there is not is told before the ones that are missing because of it."""
        given = sys.argv[1:] if args is None else args
        known = {flag.lstrip("-"): flag for flag in self._option_string_actions}
        for flag in _flags(given):
            given_name = flag.lstrip("-")
            begun = [name for name in known if name.startswith(given_name)]
            close = [] if given_name in known else begun or get_close_matches(given_name, known, 1)
            if close:
                self.error(f"there is no flag {flag}: did you mean {known[close[0]]}?")
        return super().parse_known_args(args, namespace)

    def error(self, message: str) -> NoReturn:
        """Raise ``UsageError``."""
        raise UsageError(f"{message} (see `{self.prog} --help`)")


def parse_settings(settings: type[S], prog: str, description: str, args: Sequence[str]) -> S:
    """The settings from flags and environment, flags first; ``UsageError`` names every wrong one in one line."""
    parser = CommandParser(prog=prog, description=description)
    named = settings.names().items()
    metavars = {
        name: metadata.text for name, field in named for metadata in field.metadata if isinstance(metadata, Metavar)
    }
    lists = {name for name, field in named if "tuple" in str(field.annotation) and not settings.has_variables}
    add_argument = partial(_add_argument, metavars, lists)
    source = CliSettingsSource[Any](settings, root_parser=parser, add_argument_method=add_argument)
    try:
        return CliApp.run(settings, cli_args=list(args), cli_settings_source=source)
    except SettingsError as error:
        raise UsageError(str(error)) from error
    except ValidationError as error:
        raise UsageError("; ".join(_messages(settings, error.errors()))) from None


def _flags(args: Sequence[str]) -> Iterator[str]:
    """The long flags, as they are written, without values; what comes behind ``--`` is none."""
    for arg in takewhile(lambda arg: arg != "--", args):
        if arg.startswith("--"):
            yield arg.partition("=")[0]


def _add_argument(
    metavars: Mapping[str, str], lists: Container[str], container: argparse.ArgumentParser, *names: str, **options: Any
) -> argparse.Action:
    """Add a flag with a readable metavar, or its setting's own, and without an empty default in its help.

    The values of ``lists`` are not split at commas, as those that may stand in a variable are.
    """
    name = names[-1].removeprefix("--").replace("-", "_")
    metavar = options.get("metavar")
    if metavar is not None:
        options["metavar"] = metavars.get(name) or METAVARS.get(metavar, metavar)
    if options.get("nargs") in ("*", "+") and names[-1].startswith("--"):
        options |= {"action": "extend", "nargs": "+"}  # it may be repeated, too
    if name in lists:
        options["type"] = lambda text: text.replace(",", COMMA)
    for default in EMPTY_DEFAULTS:
        options["help"] = options["help"].replace(default, "")
    options["help"] = TUPLE_DEFAULT.sub(_plain_default, options["help"])
    return container.add_argument(*names, **options)


def _plain_default(match: re.Match[str]) -> str:
    return f"(default: {match[1].translate(QUOTES_AND_SPACES)})"


def missing(*names: str, has_variables: bool = True) -> str:
    """The message for required settings that are missing."""
    flags = listed(map(_flag, names), "and")
    verb, pronoun = ("is", "it") if len(names) == 1 else ("are", "them")
    variables = f", or set {listed(map(_variable, names), 'and')}" if has_variables else ""
    return f"{flags} {verb} missing: give {pronoun}{variables}"


def _flag(name: str) -> str:
    return f"--{name.replace('_', '-')}"


def _variable(name: str) -> str:
    return f"ONWARD_{name.upper()}"


def listed(words: Iterable[str], conjunction: str) -> str:
    """Words as a sentence lists them: ``a, b and c``."""
    *first, last = words
    return f"{', '.join(first)} {conjunction} {last}" if first else last


def _messages(settings: type[Settings], errors: Sequence[Any]) -> Iterator[str]:
    absent = [str(error["loc"][0]) for error in errors if error["type"] == "missing"]
    if absent:
        told = {} if settings.has_variables else {name: _in_words(settings, name) for name in absent}
        yield missing(*absent, has_variables=settings.has_variables) + _told(told)
    for error in errors:
        if error["type"] != "missing":
            yield _message(settings, error)


def _in_words(settings: type[Settings], name: str) -> str:
    text = (settings.names()[name].description or "").removesuffix(".")
    return text[:1].lower() + text[1:]


def _told(settings: Mapping[str, str]) -> str:
    """What is wanted, by the name of the setting, in brackets; nothing of none."""
    if len(settings) > 1:
        return f" ({'; '.join(f'{_flag(name)}: {text}' for name, text in settings.items())})"
    return "".join(f" ({text})" for text in settings.values())


def _message(settings: type[Settings], error: Any) -> str:
    message = str(error["msg"]).removeprefix("Value error, ")
    if not error["loc"]:
        return message
    name = str(error["loc"][0])
    field = settings.names()[name]
    shown = name.upper() if is_positional(field) else _flag(name)
    if settings.has_variables:
        shown += f" or {_variable(name)}"
    value = "" if "Secret" in str(field.annotation) else f" (it is {error['input']!r})"
    return f"{shown}: {message[0].lower()}{message[1:]}{value}"

"""Commands of several actions: ``onward COMMAND ACTION [FLAGS]``."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from ...errors import UsageError
from .parsing import listed

Action = Callable[[Sequence[str]], int]
"""Takes the arguments behind the action's name, and returns the exit code."""


def run_action(command: str, usage: str, actions: Mapping[str, Action], args: Sequence[str]) -> int:
    """Run the action that the first argument names; print the usage without one."""
    if not args or args[0] in ("-h", "--help"):
        print(usage)
        return 0
    if args[0] not in actions:
        raise UsageError(f"there is no `onward {command} {args[0]}`: use {listed(actions, 'or')}")
    return actions[args[0]](args[1:])

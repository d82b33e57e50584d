"""The keys of months, each printed by a command that is given the month."""

from __future__ import annotations

import base64
import binascii
import os
import shlex
import signal
import subprocess
from importlib.util import find_spec

from ..errors import UsageError
from .sealing import KEY_BYTES

FLAG = "--archive-key-command"
SECONDS = 30.0
_LONGEST_REASON = 200


class NoKeyError(Exception):
    """There is no key of a month: it was dropped, or never made."""


class KeyCommandError(Exception):
    """The command does not say whether there is a key."""


class MonthKeys:
    """Asks a command for the key of a month, ``COMMAND 2026-10``: 32 bytes in base64, nothing where there is none.

    It is no shell's command, and has this process's environment. One key is remembered at a time. Raise ``UsageError``
    where it cannot be a command, or the package that seals is missing.
    """

    def __init__(self, command: str) -> None:
        try:
            self._words = shlex.split(command)
        except ValueError as error:
            raise UsageError(f"{FLAG} {command!r}: {error}") from None
        if not self._words:
            raise UsageError(f"{FLAG} names no command")
        if find_spec("cryptography") is None:
            raise UsageError(f"{FLAG} needs the package cryptography: pip install 'onward[archive]'")
        self._known: tuple[str, bytes] | None = None

    def __call__(self, month: str) -> bytes:
        """The key; raise ``NoKeyError`` or ``KeyCommandError``."""
        known = self._known
        if known is not None and known[0] == month:
            return known[1]
        text = self._output(month).strip()
        if not text:
            raise NoKeyError(f"{self._words[0]} has no key of {month}")
        try:
            key = base64.b64decode(text, validate=True)
        except (binascii.Error, ValueError):
            key = b""
        if len(key) != KEY_BYTES:
            raise KeyCommandError(f"{self._words[0]} {month} prints no {KEY_BYTES} bytes in base64")
        self._known = month, key
        return key

    def _output(self, month: str) -> bytes:
        try:
            with subprocess.Popen(
                [*self._words, month],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                start_new_session=True,
            ) as process:
                try:
                    output, reason = process.communicate(timeout=SECONDS)
                except BaseException:
                    # What it has started may hold its pipes open.
                    os.killpg(process.pid, signal.SIGKILL)
                    raise
        except subprocess.TimeoutExpired:
            raise KeyCommandError(f"{self._words[0]} {month} has not ended within {SECONDS:g} seconds") from None
        except OSError as error:
            raise KeyCommandError(f"{self._words[0]} cannot be run: {error.strerror}") from None
        if process.returncode:
            said = " ".join(reason.decode("utf-8", "replace").split())[:_LONGEST_REASON]
            raise KeyCommandError(f"{self._words[0]} {month} ended with {process.returncode}: {said or 'no reason'}")
        return output

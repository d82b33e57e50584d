"""The command ``onward``: finds the command's module, runs it, and turns errors into one line and an exit code."""

from __future__ import annotations

import errno
import importlib
import os
import sys
import traceback
from collections.abc import Sequence
from difflib import get_close_matches

from ... import __version__
from ..errors import UsageError
from ..printable import printable

COMMANDS = {
    "demo": "Show everything at work on this machine: world, Kafka, worker, and who learns what.",
    "simulate": "Publish a simulated world to a Kafka whose workers serve it.",
    "spec": "Draft a program spec from a CSV, check specs line by line, or review what they would tell people.",
    "train": "Train a program's model from a CSV and its spec.",
    "train-rl": "Train the learned goal of durable recourse against a simulated competition.",
    "suggest": "Suggest a way forward to the rejected people of a CSV, without Kafka.",
    "models": "Import a model from elsewhere in ONNX, check a new one, or announce it to the workers of its program.",
    "specs": "Announce a changed spec to the workers of its program.",
    "topics": "Create the topics on a Kafka, or check them.",
    "worker": "Run the pipeline against a Kafka until it is told to stop.",
    "evaluate": "Estimate from the log of a program what another policy would have earned.",
    "replay": "Fold the journal with this version, and say which output would be another one.",
    "dead-letters": "List the records that could not be used, show them, or send them again once the cause is mended.",
    "show": "Show everything that happened to one application.",
    "explain": "Explain one application on one page: decision, reasons, options, promises, and what became of it.",
    "console": "Serve pages for applicants and case workers, make links to them, or write letters.",
    "erase": "Let everything about a person be forgotten, or find what still names them.",
    "status": "Show the topics, the lag of the workers, and what the ledgers hold.",
}
"""Every command and its summary.

``NAME.py``, with _ for -, holds ``run(args) -> exit code`` and is imported when called.
"""

INTERRUPTED = 130

NO_DESCRIPTORS = "too many open files: raise the limit (`ulimit -n 65536`, LimitNOFILE of a service) and start again"


def main(args: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code (0 done, 1 to 6 see ``streams/errors.py``, 130 interrupted)."""
    try:
        return _dispatch(list(sys.argv[1:] if args is None else args))
    except KeyboardInterrupt:
        print("onward: interrupted", file=sys.stderr)
        return INTERRUPTED
    except BrokenPipeError:
        # The reader of our output has ended (`onward status | head`). The interpreter flushes stdout at exit; that must
        # not raise again.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except Exception as error:  # every error becomes one line
        return _fail(error)


def _dispatch(args: list[str]) -> int:
    if not args or args[0] in ("-h", "--help"):
        print(_help())
        return 0
    if args[0] == "--version":
        print(f"onward {__version__}")
        return 0
    if args[0] not in COMMANDS:
        close = get_close_matches(args[0], COMMANDS, n=1)
        hint = f"did you mean `onward {close[0]}`?" if close else f"choose one of {', '.join(COMMANDS)}"
        raise UsageError(f"there is no command {args[0]!r}: {hint}")
    module = importlib.import_module(f".{args[0].replace('-', '_')}", __package__)
    code: int = module.run(args[1:])
    return code


def _fail(error: Exception) -> int:
    if os.environ.get("ONWARD_DEBUG"):
        traceback.print_exception(error)
    code = None if _lacks_descriptors(error) else getattr(error, "exit_code", None)
    if code is not None:
        for line in str(error).splitlines():
            print(f"onward: {printable(line)}", file=sys.stderr)
        return int(code)
    if _lacks_descriptors(error):
        print(f"onward: {NO_DESCRIPTORS}", file=sys.stderr)
        return 1
    message = " ".join(str(error).split()) or "no message"
    unexpected = f"unexpected {type(error).__name__}: {printable(message)}"
    print(f"onward: {unexpected} (ONWARD_DEBUG=1 shows where)", file=sys.stderr)
    return 1


def _lacks_descriptors(error: BaseException | None) -> bool:
    """Whether an error came of too many open files, in whatever other errors it was wrapped."""
    seen = set[int]()
    while error is not None and id(error) not in seen:
        if isinstance(error, OSError) and error.errno in (errno.EMFILE, errno.ENFILE):
            return True
        seen.add(id(error))
        error = error.__cause__ or error.__context__
    return False


def _help() -> str:
    width = max(map(len, COMMANDS))
    commands = "\n".join(f"  {name:<{width}}  {summary}" for name, summary in COMMANDS.items())
    return (
        "usage: onward COMMAND [FLAGS]\n\n"
        "Gives every rejected applicant a way forward, and learns which ones really help.\n\n"
        f"commands:\n{commands}\n\n"
        "`onward COMMAND --help` explains its flags; `onward --version` prints the version.\n"
        "Exit codes: 0 done, 1 failed, 2 wrong input, 3 Kafka, 4 state on disk, 5 model refused, 6 fenced,\n"
        "130 interrupted."
    )

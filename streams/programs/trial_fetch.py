"""The process that fetches a bundle for its trial: ``python -m onward.streams.programs.trial_fetch``.

It has the credentials of the file system, and only checks sizes and hashes. The process that opens the files has none.
It reads a request from standard input, and writes a verdict to standard output.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

import msgspec

from ..errors import ModelError, one_line
from .bundle.loader import fetch_bundle
from .load_limits import limit_process
from .trial import Request, TrialVerdict

_MOST_CHARACTERS = 2000


def main() -> None:
    """Fetch one bundle."""
    request = msgspec.json.decode(sys.stdin.buffer.readline(), type=Request, strict=False)
    # What libraries print must not get among the verdict.
    answer = os.dup(1)
    os.dup2(2, 1)
    limit_process(request.limits)
    os.write(answer, msgspec.json.encode(TrialVerdict(_problem(request))))


def _problem(request: Request) -> str | None:
    model = request.trial.model
    try:
        fetch_bundle(model.manifest, model.sha256, Path(request.folder), request.limits.memory_bytes)
    except ModelError as error:
        return str(error)[:_MOST_CHARACTERS]
    except Exception as error:  # each file system has errors of its own
        return f"{model.manifest} cannot be read: {one_line(error)}"[:_MOST_CHARACTERS]
    return None


if __name__ == "__main__":
    main()

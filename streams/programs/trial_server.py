"""The process that holds trials of models: ``python -m onward.streams.programs.trial_server``.

It reads requests from standard input, a line each, and writes a verdict for each to standard output, after a first line
that says that it is ready.
"""

from __future__ import annotations

import math
import os
import select
import signal
import sys
from pathlib import Path

import msgspec

from ...schemas.encoding import FeatureCodec
from ..errors import ModelError, one_line
from .assembly import check_model
from .bundle.loader import load_bundle
from .load_limits import LoadLimits, import_model_libraries, limit_process
from .trial import SENT_TO_WORKERS, Request, Trial, TrialVerdict

_MOST_CHARACTERS = 2000


def main() -> None:
    """Serve until standard input ends."""
    for number in SENT_TO_WORKERS:
        signal.signal(number, signal.SIG_IGN)
    import_model_libraries()
    _write(b"ready")
    for line in sys.stdin.buffer:
        _write(msgspec.json.encode(_tried(msgspec.json.decode(line, type=Request, strict=False))))


def _write(line: bytes) -> None:
    sys.stdout.buffer.write(line + b"\n")
    sys.stdout.buffer.flush()


def _tried(request: Request) -> TrialVerdict:
    """The verdict of a process that is forked for it."""
    read_end, write_end = os.pipe()
    pid = os.fork()
    if not pid:
        _judge(request, write_end)
    os.close(write_end)
    with os.fdopen(read_end, "rb") as pipe:
        has_ended = _wait(read_end, request.limits)
        if not has_ended:
            os.kill(pid, signal.SIGKILL)
        answer = pipe.read()
    _, status = os.waitpid(pid, 0)
    if not has_ended:
        return TrialVerdict(f"{request.trial.model.manifest}: loading it does not end")
    if os.WIFSIGNALED(status):
        return TrialVerdict(signal=os.WTERMSIG(status))
    return msgspec.json.decode(answer, type=TrialVerdict)


def _wait(read_end: int, limits: LoadLimits) -> bool:
    """Whether a trial answers or ends. Seconds are counted one by one: in some of them nothing may have run."""
    waiting = range(limits.waiting_seconds + limits.waiting_factor * math.ceil(limits.seconds))
    return any(select.select([read_end], [], [], 1.0)[0] for _ in waiting)


def _judge(request: Request, write_end: int) -> None:
    """Load the model within the limits, write the verdict, and end."""
    try:
        # What libraries print must not get among the verdicts.
        nothing = os.open(os.devnull, os.O_RDWR)
        for stream in (0, 1, 2):
            os.dup2(nothing, stream)
        limit_process(request.limits)
        os.write(write_end, msgspec.json.encode(TrialVerdict(_problem(request.trial, Path(request.folder)))))
        os._exit(0)
    finally:
        os._exit(1)


def _problem(trial: Trial, copy: Path) -> str | None:
    try:
        codec = FeatureCodec(trial.spec, trial.bounds)
        address, sha256 = trial.model.manifest, trial.model.sha256
        bundle = load_bundle(address, sha256=sha256, columns=codec.columns, codec=codec, copy=copy)
        check_model(bundle, trial.model, trial.spec)
    except ModelError as error:
        return str(error)[:_MOST_CHARACTERS]
    except Exception as error:  # whatever it is, another model may be announced
        return f"{trial.model.manifest} is refused: {one_line(error)}"[:_MOST_CHARACTERS]
    return None


if __name__ == "__main__":
    main()

"""Ends a process whose threads do not end."""

from __future__ import annotations

import logging
import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager

log = logging.getLogger(__name__)

GRACE_SECONDS = 5.0


@contextmanager
def exit_despite_threads(grace_seconds: float = GRACE_SECONDS) -> Iterator[None]:
    """End the process after the block even where a thread that was started in it is still at work.

    Python waits for such threads before it exits. When all brokers are lost, the thread of Faust's consumer may wait
    for them for ever: once they are back it would be a member of the group that reads nothing. The exit code is that of
    the error that the block raises, else 0.
    """
    before, code = set(threading.enumerate()), 0
    try:
        yield
    except BaseException as error:
        code = int(getattr(error, "exit_code", 1))
        raise
    finally:
        left = [thread.name for thread in threading.enumerate() if not thread.daemon and thread not in before]
        if left:
            log.warning("still at work, and given up in %g s: %s", grace_seconds, ", ".join(left))
            timer = threading.Timer(grace_seconds, os._exit, [code])
            timer.daemon = True
            timer.start()

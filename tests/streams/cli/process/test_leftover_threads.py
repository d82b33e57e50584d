"""A process ends with the code of its error, whatever its threads do."""

import subprocess
import sys
import threading

import pytest

from onward.streams.cli.process.leftover_threads import exit_despite_threads

PROGRAM = """
import threading
from onward.streams.cli.process.leftover_threads import exit_despite_threads
from onward.streams.errors import BrokerError

with exit_despite_threads(0.1):
    threading.Thread(target=threading.Event().wait).start()
    {end}
"""


@pytest.mark.parametrize(("end", "code"), [("pass", 0), ("raise BrokerError('gone')", 3), ("raise OSError", 1)])
def test_a_thread_that_never_ends_does_not_keep_the_process(end: str, code: int) -> None:
    command = [sys.executable, "-c", PROGRAM.format(end=end)]
    done = subprocess.run(command, check=False, capture_output=True, text=True)
    assert done.returncode == code
    assert "still at work, and given up in 0.1 s: Thread-1" in done.stderr


def test_a_block_that_ends_its_threads_ends_nothing_else() -> None:
    before = threading.enumerate()
    with exit_despite_threads(0.0):
        thread = threading.Thread(target=lambda: None)
        thread.start()
        thread.join()
    assert threading.enumerate() == before

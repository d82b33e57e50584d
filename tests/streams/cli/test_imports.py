"""What commands import: nobody waits for scikit-learn who only asks for help, or reads a spec."""

import subprocess
import sys

SLOW = {"sklearn", "scipy.stats", "pandas", "skops", "numba", "torch"}
"""Packages that take half a second or more to import."""


def test_what_only_reads_imports_nothing_slow():
    program = (
        "import sys, onward.streams.cli.show, onward.streams.cli.spec, onward.streams.api.program; print(*sys.modules)"
    )
    done = subprocess.run([sys.executable, "-P", "-c", program], capture_output=True, text=True, check=True)
    assert not SLOW & set(done.stdout.split())

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


def test_the_package_imports_no_page():
    program = "import sys, onward, onward.streams.cli; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-P", "-c", program], capture_output=True, text=True, check=True)
    modules = done.stdout.split()
    assert "onward.streams.cli" in modules
    assert not {name for name in modules if name.startswith(("onward.streams.console", "aiohttp", "jwt"))}

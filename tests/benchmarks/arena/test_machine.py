from __future__ import annotations

import sysconfig

import pytest

from onward.benchmarks.arena.machine import is_optimised_python


@pytest.mark.parametrize(
    ("arguments", "flags", "schemes", "verdict"),
    [
        ("'--enable-shared' '--enable-optimizations'", "-O3", (), True),
        ("'--enable-shared'", "-O3 -fprofile-use", (), True),
        ("'--enable-shared'", "-O3", (), False),
        (None, "-O3", (), False),
        ("'--enable-shared'", "-O2", ("deb_system",), True),
        (None, None, (), None),
    ],
)
def test_how_python_was_built_is_told_from_what_it_says_of_itself(arguments, flags, schemes, verdict, monkeypatch):
    said = {"CONFIG_ARGS": arguments, "PY_CFLAGS": flags}
    monkeypatch.setattr(sysconfig, "get_config_var", said.get)
    monkeypatch.setattr(sysconfig, "get_scheme_names", lambda: ("posix_prefix", *schemes))
    assert is_optimised_python() is verdict

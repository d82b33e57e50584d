"""The present speed of the machine, and whether its Python is an optimised build: figures depend on both.

The same work takes more processor time when other processes use the cores.
"""

from __future__ import annotations

import sysconfig
import time

import msgspec
import numpy as np

_EVENT = b'{"program":"credit","application":"a-1","features":{"income":3,"age":41,"region":"north"}}'
_PASSES = 5_000
_TABLE = np.arange(200.0 * 13).reshape(200, 13)


def fixed_work() -> float:
    """Return the processor time, in seconds, of a fixed mixture of JSON, dicts and small arrays; about 0.02."""
    decode, started = msgspec.json.Decoder().decode, time.thread_time()
    for _ in range(_PASSES):
        dict.fromkeys(decode(_EVENT)["features"], 1.0)
    for _ in range(_PASSES // 5):
        (_TABLE * _TABLE).sum(axis=1).argmax()
    return time.thread_time() - started


def is_optimised_python() -> bool | None:
    """Return whether this interpreter was compiled with profile-guided optimisation; None if it is unknown."""
    if "deb_system" in sysconfig.get_scheme_names():
        # Debian's and Ubuntu's packages are, but their build options do not show it.
        return True
    arguments, flags = (sysconfig.get_config_var(name) for name in ("CONFIG_ARGS", "PY_CFLAGS"))
    if arguments is None and flags is None:
        return None
    return "--enable-optimizations" in (arguments or "") or "-fprofile-use" in (flags or "")

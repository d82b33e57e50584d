"""The command line of the contenders that only pass records on."""

from __future__ import annotations

import argparse
from dataclasses import dataclass


@dataclass(frozen=True)
class PassThroughArgs:
    """The arguments: records go from topic ``source`` to topic ``target``."""

    bootstrap: str
    group: str
    source: str
    target: str
    fetch_wait_ms: int


def pass_through_args() -> PassThroughArgs:
    """Parse the command line."""
    parser = argparse.ArgumentParser()
    for name in ("bootstrap", "group", "source", "target"):
        parser.add_argument(name)
    parser.add_argument("fetch_wait_ms", type=int)
    return PassThroughArgs(**vars(parser.parse_args()))

"""The command line that the contenders without any work of their own share."""

from __future__ import annotations

import argparse
from dataclasses import dataclass


@dataclass(frozen=True)
class Passage:
    """From one topic to another."""

    bootstrap: str
    group: str
    source: str
    target: str
    fetch_wait_ms: int


def passage() -> Passage:
    """As given on the command line."""
    parser = argparse.ArgumentParser()
    for name in ("bootstrap", "group", "source", "target"):
        parser.add_argument(name)
    parser.add_argument("fetch_wait_ms", type=int)
    return Passage(**vars(parser.parse_args()))

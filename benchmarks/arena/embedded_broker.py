"""The embedded broker in a process of its own: ``python -m onward.benchmarks.arena.embedded_broker``.

It prints its address, and ends when its standard input does.
"""

from __future__ import annotations

import sys

from onward.streams.kafka.embedded import EmbeddedBroker

if __name__ == "__main__":
    with EmbeddedBroker() as broker:
        print(broker.bootstrap, flush=True)
        sys.stdin.read()

"""Simulated crashes of workers."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from unittest import mock

from onward.streams.ledger.ledger import Ledger


@contextmanager
def crashes() -> Iterator[None]:
    """Close at the end of the block the ledgers that workers in it have left open.

    A worker that crashes does not close its ledgers: the end of its process does. A simulated crash has no such end,
    and Python 3.13 warns of every connection that nobody closes.
    """
    opened: list[Ledger] = []
    open_ledger = Ledger.__init__

    def recorded(self: Ledger, *args: Any, **options: Any) -> None:
        open_ledger(self, *args, **options)
        opened.append(self)

    with mock.patch.object(Ledger, "__init__", recorded):
        try:
            yield
        finally:
            for ledger in opened:
                ledger.close()

"""The rows of a data file whose label is not given."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import Struct

LINE = "missing: unlabelled"
"""What makes a label's rows without one count."""


class Unlabelled(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """How many ``rows`` have no label.

    Where the spec reads them, ``read`` of them are read, and ``unusable`` are not since they do not fit it.
    """

    rows: int
    read: int | None = None
    unusable: int | None = None


def unlabelled_in_words(unlabelled: Unlabelled | None) -> Iterator[str]:
    """A line where the label of rows is not given: that they are left out, or how many of them are read."""
    if unlabelled is None:
        return
    if unlabelled.read is None:
        yield (
            f"{unlabelled.rows} rows are left out: their label is not given, so nobody knows yet what came of them; "
            f"write `label: {{{LINE}}}` if they say what other people are like, as those do who were turned down"
        )
        return
    rest = f"; {unlabelled.unusable} more do not fit the spec and are left out" if unlabelled.unusable else ""
    yield f"{unlabelled.read} rows without a label are read: they say what people are like, and who gets a label{rest}"

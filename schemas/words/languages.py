"""The language of those who name none."""

from __future__ import annotations

from collections.abc import Iterable

ENGLISH = "en"


def first_language(tags: Iterable[str]) -> str:
    """English where it is there, else the first by its tag.

    Examples
    --------
    >>> first_language(["de", "en-GB"]), first_language(["fr", "de"])
    ('en-GB', 'de')
    """
    return min(tags, key=lambda tag: (tag.partition("-")[0] != ENGLISH, tag))

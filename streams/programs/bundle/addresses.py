"""Addresses that a model event may name: whoever writes to the topic must not make a worker read any file or URL."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple
from urllib.parse import unquote

import fsspec

_LOCAL = ("file", "local")
_MISLEADING = "?#\\"
"""Clients end a path at these, or take them for another character."""


class _Place(NamedTuple):
    """An address in parts: those of the path, of another file system after its bucket or host."""

    scheme: str
    parts: tuple[str, ...]


def is_allowed(address: str, places: Sequence[str]) -> bool:
    """Whether an address lies in one of these folders, buckets or hosts, also after links are resolved.

    An address that leads elsewhere than it seems never does: one with ``..``, a query or a fragment, or a chain of
    fsspec (``filecache::...``).

    Examples
    --------
    >>> is_allowed("s3://models/loans/v2/manifest.json", ["s3://models/loans"])
    True
    >>> is_allowed("s3://models/loans/../cards/manifest.json", ["s3://models/loans"])
    False
    """
    asked = _place(address)
    allowed = [place for place in map(_place, places) if place is not None]
    return asked is not None and any(
        asked.scheme == place.scheme and asked.parts[: len(place.parts)] == place.parts for place in allowed
    )


def home_of(address: str) -> str:
    """Where the models of a program are expected, by the address of its first manifest.

    That is the folder that holds the bundle's folder; where that is a whole file system, bucket or host, the bundle's
    folder alone.

    Examples
    --------
    >>> home_of("s3://models/loans/v1/manifest.json"), home_of("/srv/models/loans-1/manifest.json")
    ('s3://models/loans', '/srv/models')
    >>> home_of("/model/manifest.json")
    '/model'
    """
    place = _place(address)
    if place is None:
        return address
    # The first part is a root, a bucket or a host.
    kept = next((parts for parts in (place.parts[:-2], place.parts[:-1]) if len(parts) > 1), place.parts)
    return str(Path(*kept)) if place.scheme in _LOCAL else f"{place.scheme}://{'/'.join(kept)}"


def _place(address: str) -> _Place | None:
    """The parts of an address; None for one that leads elsewhere than it seems, or nowhere."""
    if "::" in address:
        return None
    scheme, path = fsspec.core.split_protocol(address)
    try:
        if scheme is None or scheme.lower() in _LOCAL:
            # What fsspec opens: it knows more prefixes than one, and home folders.
            return _Place("file", Path(fsspec.core.url_to_fs(address)[1]).resolve().parts)
    except (OSError, RuntimeError, ValueError):
        return None
    while path != (path := unquote(path)):
        pass
    parts = tuple(part for part in path.split("/") if part not in ("", "."))
    if ".." in parts or any(character in path for character in _MISLEADING) or not path.isprintable():
        return None
    return _Place(scheme.lower(), (parts[0].lower(), *parts[1:])) if parts else None

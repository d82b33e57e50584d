"""Which addresses a model event may name: whoever writes to the topic must not make a worker read any file or URL."""

from __future__ import annotations

import posixpath
from collections.abc import Sequence
from pathlib import Path
from urllib.parse import unquote, urlsplit


def is_allowed(address: str, prefixes: Sequence[str]) -> bool:
    """Whether an address lies in one of these folders, buckets or hosts, also after ``..`` and links are resolved.

    Chained addresses of fsspec (``filecache::...``) never do.

    Examples
    --------
    >>> is_allowed("s3://models/loans/v2/manifest.json", ["s3://models/loans"])
    True
    >>> is_allowed("s3://models/loans/../cards/manifest.json", ["s3://models/loans"])
    False
    """
    plain = _plain(address)
    return "::" not in address and any(f"{plain}/".startswith(f"{_plain(prefix)}/") for prefix in prefixes)


def home_of(address: str) -> str:
    """Where the models of a program are expected, by the address of its first manifest.

    That is the bucket or host, or the folder that holds the bundle's folder.

    Examples
    --------
    >>> home_of("s3://models/loans/v1/manifest.json"), home_of("/srv/models/loans-1/manifest.json")
    ('s3://models', '/srv/models')
    """
    path = _local_path(address)
    if path is not None:
        return str(path.parent.parent)
    parts = urlsplit(address)
    return f"{parts.scheme}://{parts.netloc}"


def _local_path(address: str) -> Path | None:
    """The path of a local address; None for other file systems."""
    scheme, colon, path = address.partition("://")
    if not colon:
        return Path(address).resolve()
    return Path(path).resolve() if scheme.lower() in ("file", "local") else None


def _plain(address: str) -> str:
    """The address without ``..``, links and slashes at its end."""
    path = _local_path(address)
    if path is not None:
        return str(path).rstrip("/")
    scheme, _, rest = address.partition("://")
    return f"{scheme.lower()}://{posixpath.normpath(unquote(rest))}"

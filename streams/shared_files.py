"""Files at an fsspec address that workers share: they appear whole or not at all, on a disk for their owner alone."""

from __future__ import annotations

import os
import secrets
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import IO, Any

import fsspec
from fsspec.implementations.local import LocalFileSystem

from .errors import UsageError, one_line
from .private_folder import make_private, make_private_file


def file_system(flag: str, address: str) -> tuple[Any, str]:
    """The file system of an address and the path there; ``UsageError`` names the flag that gave it."""
    try:
        system, root = fsspec.core.url_to_fs(address)
    except (ImportError, OSError, ValueError) as error:
        raise UsageError(f"{flag} {address}: not an address that can be used: {one_line(error)}") from None
    return system, root.rstrip("/")


def make_folder(system: Any, root: str, folder: str) -> None:
    """Make a folder below the root, which on a disk only its owner can read."""
    if isinstance(system, LocalFileSystem):
        make_private(Path(root))
    system.makedirs(folder, exist_ok=True)


def appearing(system: Any, path: str) -> AbstractContextManager[IO[bytes]]:
    """A file to write. It appears when it is closed: object stores do so, on a disk it is renamed."""
    if isinstance(system, LocalFileSystem):
        return _renamed(path)
    file: AbstractContextManager[IO[bytes]] = system.open(path, "wb")
    return file


@contextmanager
def _renamed(path: str) -> Iterator[IO[bytes]]:
    part = Path(f"{path}.{secrets.token_hex(4)}.part")
    try:
        make_private_file(part)
        with part.open("wb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        part.replace(path)
    finally:
        part.unlink(missing_ok=True)

"""All files at an address of snapshots, fetched one after the other."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from fsspec.implementations.local import LocalFileSystem

from ..errors import UsageError, one_line
from ..shared_files import file_system
from .search import LONGEST_MS


def local_folder(address: str) -> list[Path]:
    """The folder on a disk that an address of snapshots is; none where it is something else."""
    system, root = file_system("--snapshots", address)
    return [Path(root).resolve()] if isinstance(system, LocalFileSystem) else []


def snapshot_files(address: str, folder: Path) -> Iterator[tuple[str, int | None, Path]]:
    """Each file: what it is called, until when it may stay, and a copy of it in a folder, which the next one replaces.

    A file whose time of writing is not known should be gone.
    """
    system, root = file_system("--snapshots", address)
    try:
        files = sorted(system.find(root))
    except (ImportError, OSError, ValueError) as error:
        raise UsageError(f"--snapshots {address}: not an address that can be read: {one_line(error)}") from None
    copy = folder / "copy"
    for file in files:
        try:
            system.get_file(file, str(copy))
            until_ms: int | None = round(system.modified(file).timestamp() * 1000) + LONGEST_MS
        except FileNotFoundError:
            continue  # A newer snapshot has taken its place meanwhile.
        except NotImplementedError:
            until_ms = None
        yield str(file), until_ms, copy
        copy.unlink(missing_ok=True)

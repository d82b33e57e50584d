"""All files at an address of an archive, searched one after the other; those that are sealed are opened."""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO

from ..archive.month_keys import KeyCommandError, NoKeyError
from ..archive.sealing import SUFFIX, SealError, is_sealed, read_head, unseal
from ..errors import UsageError, one_line
from ..private_folder import make_private_file
from ..shared_files import file_system
from .search import Trace, TraceSearch

_UNOPENED = (0,)
"""In the place of names: what nobody has opened is not known to be without one."""
_MONTH = re.compile(r"-(\d{4}-\d{2})\.(?:segment|checkpoint)\.", re.ASCII)


@dataclass
class ArchiveSearch:
    """Searches an archive. ``keys`` give the key of a month; without them nothing that is sealed is opened.

    ``forgotten`` are the months whose files nobody can open any more: they have no key.
    """

    address: str
    keys: Callable[[str], bytes] | None
    search: TraceSearch
    forgotten: set[str] = field(default_factory=set)

    def traces(self, folder: Path) -> Iterator[Trace]:
        """The traces; a folder is for copies. Nothing ends them but a key that is dropped, or who deletes the files."""
        system, root = file_system("--archive", self.address)
        with self._readable():
            paths = sorted(map(str, system.find(root)))
        for path in paths:
            copy = folder / "copy"
            make_private_file(copy)
            with self._readable(), system.open(path, "rb") as file, copy.open("wb") as target:
                left = self._open(path, file, target)
            if left is None:
                yield from self.search.in_file(copy, None, path)
            elif left:
                yield Trace(path, left, _UNOPENED, None)
            copy.unlink()

    def _open(self, path: str, file: IO[bytes], target: IO[bytes]) -> str | None:
        """Write what a file holds; why it is not opened, where it is not: "" where nobody can."""
        head = read_head(file)
        if not is_sealed(head):
            file.seek(0)
            shutil.copyfileobj(file, target)
            return None
        month = _MONTH.search(path)
        if self.keys is None or month is None:
            return "sealed, and not opened: give --archive-key-command"
        try:
            key = self.keys(month[1])
        except NoKeyError:
            self.forgotten.add(month[1])
            return ""
        except KeyCommandError as error:
            raise UsageError(f"--archive: {one_line(error)}") from None
        try:
            file.seek(0)
            target.writelines(unseal(file, key, "/".join(path.split("/")[-2:]).partition(SUFFIX)[0]))
        except SealError as error:
            return f"sealed, and not opened: {error}"
        return None

    @contextmanager
    def _readable(self) -> Iterator[None]:
        """Turn the errors of any file system into ``UsageError``."""
        try:
            yield
        except UsageError:
            raise
        except Exception as error:
            raise UsageError(f"--archive {self.address}: cannot be read: {one_line(error)}") from error

"""Names of cases that tell nobody anything: keyed hashes of program and application."""

from __future__ import annotations

import hmac
import os
import secrets
from base64 import urlsafe_b64encode
from collections.abc import Sequence
from contextlib import suppress
from hashlib import sha256
from pathlib import Path

from ..errors import LedgerError
from ..private_folder import make_private

FILE = "keys"
KEY_BYTES = 32
HANDLE_BYTES = 16


class Keys:
    """The secrets of a console, a line each, the newest last.

    The first one names cases, so that their names stay; the newest one signs, and all of them are taken.
    """

    def __init__(self, secrets: Sequence[str]) -> None:
        self.secrets = list(secrets)
        self._naming = self.secrets[0].encode()

    def handle(self, program: str, application: str) -> str:
        """The name of a case in addresses: 22 characters, from which nobody can tell the case.

        Examples
        --------
        >>> Keys(["a secret"]).handle("loan", "ada")
        'OrXJO9K-6rAe4K87XV_rxA'
        """
        named = b"%d:%s%s" % (len(program), program.encode(), application.encode())
        digest = hmac.digest(self._naming, named, sha256)[:HANDLE_BYTES]
        return urlsafe_b64encode(digest).rstrip(b"=").decode()


def keys_of(folder: Path, *, is_new: bool = True) -> Keys:
    """The keys of a console's folder, made where there are none and it ``is_new``.

    Raise ``LedgerError`` where they are gone, or cannot be read, or where others than their owner may read them.
    """
    path = folder / FILE
    try:
        if is_new and not path.exists():
            if any(folder.glob("*.sqlite")):  # a new key would name no case as before, and open no link
                raise LedgerError(f"{folder} holds a console's file and no keys: put {path} back, from a copy")
            make_private(folder)
            # Of two that begin at once one makes it.
            with (
                suppress(FileExistsError),
                os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as f,
            ):
                f.write(f"{secrets.token_urlsafe(KEY_BYTES)}\n")
        if path.stat().st_mode & 0o077:
            raise LedgerError(f"{path} may be read by others: chmod 600 {path}")
        lines = [line for line in map(str.strip, path.read_text(encoding="ascii").splitlines()) if line]
    except FileNotFoundError:
        raise LedgerError(
            f"{folder} holds no keys: give the --state-dir of `onward console serve`, once it has begun"
        ) from None
    except (OSError, UnicodeDecodeError) as error:
        raise LedgerError(f"{path} cannot be read: {getattr(error, 'strerror', None) or error}") from None
    if not lines:
        raise LedgerError(f"{path} holds no key: delete it, and a new one is made; links of before then work no more")
    return Keys(lines)

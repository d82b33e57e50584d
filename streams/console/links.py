"""Links for applicants: a signed token that names a case by its handle, and the session that it opens.

    links = Links(keys)
    token = links.token(handle, days=90)
    links.read(token)                       # None of one that is cut, changed, expired or signed by an unknown key

A link holds no name, and opens nothing but the page of one case. Links are taken back by case: all that were made
before then.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import NamedTuple

from itsdangerous import BadData, TimestampSigner, URLSafeTimedSerializer

from .handles import Keys

DAY_SECONDS = 86_400
SESSION_SECONDS = 7200


class PageLink(NamedTuple):
    """A token that is good: the case's handle, and when it was made, in seconds since the epoch."""

    handle: str
    made: int


class Links:
    """Makes and reads tokens. ``now`` gives the seconds since the epoch."""

    def __init__(self, keys: Keys, now: Callable[[], float] = time.time) -> None:
        self._now = now
        self._links = _Serializer(keys, "link", now)
        self._sessions = _Serializer(keys, "session", now)

    def token(self, handle: str, days: int) -> str:
        """A token that opens the page of a case for so many days."""
        return self._links.dumps([handle, days])

    def read(self, token: str) -> PageLink | None:
        """What a token says; None where it is not good, or not any more."""
        found = self._links.read(token)
        if found is None:
            return None
        (handle, days), made = found
        return PageLink(handle, made) if self._now() - made <= days * DAY_SECONDS else None

    def session(self, link: PageLink) -> str:
        """The value of the cookie that stands for a link for two hours."""
        return self._sessions.dumps([link.handle, link.made])

    def in_session(self, cookie: str) -> PageLink | None:
        """The link that a cookie stands for; None where it is not good, or not any more."""
        found = self._sessions.read(cookie)
        if found is None or self._now() - found[1] > SESSION_SECONDS:
            return None
        handle, made = found[0]
        return PageLink(handle, made)


class _Serializer:
    """Signs pairs with the newest key, for one purpose."""

    def __init__(self, keys: Keys, purpose: str, now: Callable[[], float]) -> None:
        class Signer(TimestampSigner):
            def get_timestamp(self) -> int:
                return int(now())

        self._serializer = URLSafeTimedSerializer(keys.secrets, salt=f"onward-{purpose}", signer=Signer)

    def dumps(self, pair: list[object]) -> str:
        """The pair as signed text."""
        return str(self._serializer.dumps(pair))

    def read(self, text: str) -> tuple[tuple[str, int], int] | None:
        """The pair and when it was signed; None where it was not signed here."""
        try:
            pair, made = self._serializer.loads(text, return_timestamp=True)
        except BadData:
            return None
        match pair:
            case [str(first), int(second)]:
                return (first, second), int(made.timestamp())
        return None

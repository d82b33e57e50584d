"""Who uses the office: somebody on this machine, or whom a proxy's token names.

roles: case:PROGRAM reads and answers for its cases, owner:PROGRAM reads its figures; PROGRAM may be *
"""

from __future__ import annotations

import asyncio
import ipaddress
import logging
from collections.abc import Iterable
from http.client import HTTPException
from typing import Any, Literal, NamedTuple, Protocol

from aiohttp import web
from yarl import URL

from ..errors import one_line

log = logging.getLogger(__name__)

ALGORITHMS = ("RS256", "ES256", "EdDSA")
BEARER = "Bearer "
Role = Literal["case", "owner"]

LOOPBACK = "localhost"
PROXY_HEADERS = ("forwarded", "via", "x-forwarded", "x-real-ip")
"""How the names of headers begin that proxies add."""


def is_loopback(host: str) -> bool:
    """Whether a host's name or address is this machine's own."""
    try:
        return host == LOOPBACK or ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def _is_from_here(origin: str) -> bool:
    try:
        return is_loopback(URL(origin).host or "")
    except ValueError:
        return False


class User(NamedTuple):
    """A user by name, and their roles, such as ``case:loan``."""

    name: str
    roles: frozenset[str]

    def may(self, role: Role, program: str) -> bool:
        """Whether they have a role for a program."""
        return bool({f"{role}:{program}", f"{role}:*"} & self.roles)


class SignInGate(Protocol):
    """Says who sends a request; raises ``HTTPUnauthorized`` where that is not known."""

    async def user(self, request: web.Request) -> User:
        """The user."""


class OpenGate:
    """Asks nobody: who reaches this machine's own address may do everything."""

    async def user(self, request: web.Request) -> User:
        """The one user. What names another machine is refused: a site whose name leads here, or a proxy's request.

        A proxy that says nothing of itself cannot be told from a browser.
        """
        origin = request.headers.get("Origin", "")
        if not is_loopback(request.url.host or "") or (origin and not _is_from_here(origin)):
            raise web.HTTPForbidden
        if any(name.lower().startswith(PROXY_HEADERS) for name in request.headers):
            log.warning("a proxy's request was refused: nobody is asked who they are without --auth-jwks")
            raise web.HTTPForbidden
        return User("you, on this machine", frozenset({"case:*", "owner:*"}))


class TokenGate:
    """Takes a proxy's JWT (RS256, ES256 or EdDSA), whose keys stand at an address.

    Parameters
    ----------
    keys
        The address of the proxy's keys (JWKS).
    issuer, audience
        Those that a token must name.
    header
        Of the request, with the token; ``Authorization`` holds it behind ``Bearer``.
    roles
        The claim that lists the roles.
    """

    def __init__(self, keys: str, issuer: str, audience: str, header: str, roles: str) -> None:
        # Imported late: a console that asks nobody does not need it.
        from jwt import PyJWKClient

        self._keys = PyJWKClient(keys, timeout=5)
        self._issuer, self._audience, self._header, self._roles = issuer, audience, header, roles
        self._fault = ""

    async def user(self, request: web.Request) -> User:
        """The user whom the token names."""
        token = request.headers.get(self._header, "").removeprefix(BEARER)
        claims = await asyncio.to_thread(self._claims, token) if token else None
        if claims is None:
            raise web.HTTPUnauthorized
        roles = claims.get(self._roles)
        given: Iterable[object] = roles if isinstance(roles, list) else str(roles or "").split()
        return User(str(claims["sub"]), frozenset(str(role) for role in given))

    def _claims(self, token: str) -> dict[str, Any] | None:
        """What a good token says; None of any other. Raises ``HTTPServiceUnavailable`` without the proxy's keys."""
        from jwt import PyJWTError, decode

        try:
            self._keys.get_signing_keys()
        except (
            PyJWTError,
            OSError,
            ValueError,
            HTTPException,
        ) as error:  # away, no JSON, or no key
            fault = one_line(error)
            if fault != self._fault:
                log.warning("nobody can sign in: the keys of --auth-jwks cannot be had: %s", fault)
            self._fault = fault
            raise web.HTTPServiceUnavailable from None
        self._fault = ""
        try:
            key = self._keys.get_signing_key_from_jwt(token)
            claims: dict[str, Any] = decode(
                token,
                key,
                algorithms=list(ALGORITHMS),
                issuer=self._issuer,
                audience=self._audience,
                options={"require": ["exp", "sub", "iss", "aud"]},
            )
        except (PyJWTError, OSError, ValueError, HTTPException):
            return None
        return claims

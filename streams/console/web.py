"""What both sites of the console have in common: headers, what may be posted, and errors as pages."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable
from typing import Any, Final

from aiohttp import web
from yarl import URL

from ..errors import LedgerError, one_line
from .pages import STYLESHEET

log = logging.getLogger(__name__)

MOST_BYTES: Final = 16 * 1024
HEADERS: Final = {
    "Content-Security-Policy": "default-src 'none'; style-src 'self'; img-src 'self'; form-action 'self'; "
    "base-uri 'none'; frame-ancestors 'none'",
    "Cache-Control": "no-store",
    "Referrer-Policy": "same-origin",
    "X-Content-Type-Options": "nosniff",
}
Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]
ErrorPage = Callable[[web.Request, int], web.StreamResponse]
"""Makes the page of an error: 400, 403, 404, 413, 429, 500 or 503."""


def make_site(routes: web.RouteTableDef, error_page: ErrorPage, address: URL | None) -> web.Application:
    """An application of pages. ``address`` is where browsers see it, where a proxy stands before it."""

    @web.middleware
    async def guarded(request: web.Request, handler: Handler) -> web.StreamResponse:
        try:
            if request.method == "POST" and not _is_same_origin(request, address):
                raise web.HTTPForbidden
            response = await handler(request)
        except web.HTTPError as error:
            response = error_page(request, error.status)
        except LedgerError as error:  # the file is locked, or its disk full
            log.warning("a page could not be made: %s", one_line(error))
            response = error_page(request, web.HTTPServiceUnavailable.status_code)
        except Exception as error:
            # Its text may hold what people have sent.
            log.error("a page could not be made: %s", type(error).__name__)
            response = error_page(request, web.HTTPInternalServerError.status_code)
        for name, value in HEADERS.items():
            response.headers.setdefault(name, value)
        return response

    app = web.Application(middlewares=[guarded], client_max_size=MOST_BYTES)
    app.add_routes(routes)
    app.router.add_get("/static/onward.css", _stylesheet)
    return app


def html(text: str, status: int = 200) -> web.Response:
    """A page."""
    return web.Response(text=text, status=status, content_type="text/html")


def see_other(path: str) -> web.Response:
    """The answer to a form: the page to look at."""
    return web.Response(status=web.HTTPSeeOther.status_code, headers={"Location": path})


async def form_of(request: web.Request) -> Any:
    """The form of a request; 400 where it is none."""
    try:
        return await request.post()
    except (ValueError, LookupError) as error:  # an unknown or broken encoding
        raise web.HTTPBadRequest from error


async def _stylesheet(_: web.Request) -> web.StreamResponse:
    return web.FileResponse(STYLESHEET, headers={"Cache-Control": "public, max-age=3600"})


def _is_same_origin(request: web.Request, address: URL | None) -> bool:
    """Whether a form was sent from a page of this site: what a browser says of it, which no other page can change."""
    fetched = request.headers.get("Sec-Fetch-Site")
    if fetched is not None:
        return fetched == "same-origin"
    origin = request.headers.get("Origin")
    seen_at = request.url if address is None else address
    return origin is not None and origin == str(seen_at.origin())

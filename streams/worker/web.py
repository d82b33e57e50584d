"""The worker's web server: ``/metrics`` for Prometheus, ``/healthz`` and ``/readyz`` for a supervisor."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from logging import Logger

from aiohttp import web
from aiohttp.log import server_logger
from prometheus_client import CONTENT_TYPE_PLAIN_0_0_4

from ..errors import UsageError
from ..metrics import Metrics
from .readiness import Readiness

Handler = Callable[[web.Request], Awaitable[web.Response]]


def make_app(metrics: Metrics, readiness: Callable[[], Readiness]) -> web.Application:
    """The web application with these three pages.

    ``/healthz`` answers 200 while the event loop runs and nothing has failed, ``/readyz`` once the worker has caught
    up. Otherwise both answer 503 with the reason as text. No page shows anything about a person.
    """
    app = web.Application()
    app.router.add_get("/metrics", _metrics_page(metrics, readiness))
    app.router.add_get("/healthz", _health_page(readiness))
    app.router.add_get("/readyz", _ready_page(readiness))
    return app


@asynccontextmanager
async def serve(
    app: web.Application, host: str, port: int, flag: str = "--web-port", logger: Logger = server_logger
) -> AsyncIterator[int]:
    """Serve ``app`` while the context lasts; yield the bound port (``port`` 0 takes a free one).

    What is no HTTP is told to ``logger``, with what was sent. Raise ``UsageError`` where the port is taken: another one
    is given by ``flag``.
    """
    runner = web.AppRunner(app, access_log=None, logger=logger)
    await runner.setup()
    try:
        site = web.TCPSite(runner, host, port)
        try:
            await site.start()
        except OSError as error:
            reason = error.strerror or error
            raise UsageError(f"cannot serve on {host}:{port} ({reason}): choose another {flag}") from error
        yield int(runner.addresses[0][1])
    finally:
        await runner.cleanup()


def _metrics_page(metrics: Metrics, readiness: Callable[[], Readiness]) -> Handler:
    async def page(_: web.Request) -> web.Response:
        metrics.ready.set(readiness().ready)
        return web.Response(body=metrics.expose(), headers={"Content-Type": CONTENT_TYPE_PLAIN_0_0_4})

    return page


def _health_page(readiness: Callable[[], Readiness]) -> Handler:
    async def page(_: web.Request) -> web.Response:
        failure = readiness().failure
        return _answer(failure is None, failure)

    return page


def _ready_page(readiness: Callable[[], Readiness]) -> Handler:
    async def page(_: web.Request) -> web.Response:
        state = readiness()
        return _answer(state.ready, state.reason)

    return page


def _answer(ok: bool, reason: str | None) -> web.Response:
    return web.Response(text="ok\n") if ok else web.Response(status=503, text=f"{reason}\n")

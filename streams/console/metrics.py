"""The metrics of a console, for Prometheus: no person, case or token is in a label."""

from __future__ import annotations

import time
from collections.abc import Callable

from aiohttp import web
from prometheus_client import CONTENT_TYPE_PLAIN_0_0_4, CollectorRegistry, Counter, Gauge, generate_latest

from ..metrics import Declared
from .web import Handler

NOT_FOUND = web.HTTPNotFound.status_code


REQUESTS = Declared("onward_console_requests_total", "counter", ("site", "status"), "Requests for pages.")
LINKS = Declared("onward_console_refused_links_total", "counter", (), "Links that do not work, and were opened.")
OUTBOX = Declared("onward_console_outbox", "gauge", (), "Forms that wait to be sent.")
AGE = Declared("onward_console_outbox_age_seconds", "gauge", (), "Age of the oldest of them; 0 of none.")
LAG = Declared(
    "onward_console_lag_seconds",
    "gauge",
    (),
    "Time since the topics had been read to their end; not a number before that.",
)
DECLARED = (REQUESTS, LINKS, OUTBOX, AGE, LAG)


class ConsoleMetrics:
    """Counts requests, and asks how far the topics are read and what waits to be sent when it is read.

    Parameters
    ----------
    read_up_to_ms
        When everything had been read last; None before that.
    waiting
        How many forms wait to be sent, and since when the oldest does, in milliseconds since the epoch.
    """

    def __init__(self, read_up_to_ms: Callable[[], int | None], waiting: Callable[[], tuple[int, int | None]]) -> None:
        self._registry, self._waiting = CollectorRegistry(), waiting
        self._requests, self._links = (
            Counter(one.name, one.documentation, one.labels, registry=self._registry) for one in (REQUESTS, LINKS)
        )
        self._outbox, self._age, lag = (
            Gauge(one.name, one.documentation, registry=self._registry) for one in (OUTBOX, AGE, LAG)
        )
        lag.set_function(lambda: _since(read_up_to_ms()))

    def counted(self, app: web.Application, site: str) -> web.Application:
        """The application, whose requests are counted from now on."""

        @web.middleware
        async def count(request: web.Request, handler: Handler) -> web.StreamResponse:
            response = await handler(request)
            self._requests.labels(site, response.status).inc()
            if response.status == NOT_FOUND and request.path.startswith("/l/"):
                self._links.inc()
            return response

        app.middlewares.insert(0, count)
        return app

    def add_page(self, app: web.Application) -> None:
        """Let an application serve ``/metrics``."""

        async def page(_: web.Request) -> web.Response:
            count, oldest_ms = self._waiting()
            self._outbox.set(count)
            self._age.set(0.0 if oldest_ms is None else max(0.0, _since(oldest_ms)))
            return web.Response(
                body=generate_latest(self._registry), headers={"Content-Type": CONTENT_TYPE_PLAIN_0_0_4}
            )

        app.router.add_get("/metrics", page)


def _since(time_ms: int | None) -> float:
    return float("nan") if time_ms is None else time.time() - time_ms / 1000

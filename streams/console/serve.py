"""Runs the console: two threads that read and send, and two sites, for applicants and for the office."""

from __future__ import annotations

import asyncio
import logging
import signal
import threading
from collections.abc import Callable, Mapping
from contextlib import AsyncExitStack, closing
from pathlib import Path
from typing import NamedTuple

from aiohttp import web
from yarl import URL

from ..kafka.options import KafkaOptions
from ..topics import Topics
from ..worker.state_lock import lock_state
from ..worker.web import serve
from .applicants import ApplicantPages
from .case_store import CaseStore
from .cases import Cases
from .desk import Desk
from .follower import OutboxSender, TopicFollower
from .handles import keys_of
from .links import Links
from .looks import Looks
from .metrics import ConsoleMetrics
from .office import Office
from .outbox import Outbox
from .pages import Pages
from .programmes import Programmes
from .programs import ConsoleProgram
from .story import minute
from .upkeep import Backup, Upkeep
from .who import SignInGate

log = logging.getLogger(__name__)
_nothing = logging.getLogger(f"{__name__}.requests")
"""Of what is no HTTP: it may hold a link or a session."""
_nothing.disabled = True


class Sites(NamedTuple):
    """Where the two sites are served, and where browsers see that of the applicants; None: there."""

    host: str
    port: int
    office_host: str
    office_port: int
    address: URL | None = None


async def serve_console(
    options: KafkaOptions,
    topics: Topics,
    state_dir: Path,
    programs: Mapping[str, ConsoleProgram],
    sites: Sites,
    gate: SignInGate,
    *,
    is_simulated: bool = False,
    backup: Backup | None = None,
    keep_ms: int | None = None,
    told: Callable[[str, str], None],
    stop: asyncio.Event | None = None,
) -> None:
    """Serve until SIGTERM, SIGINT or ``stop``. ``told`` is called with the addresses of both sites.

    A copy goes to ``backup`` once a day, from where it is fetched in the place of a file that is gone. Cases that ended
    ``keep_ms`` ago are forgotten, but counted.

    Raises ``LedgerError`` where the state cannot be used, and ``UsageError`` for a port that is taken.
    """
    # The follower says once why nothing is read; the clients say it several times a second.
    logging.getLogger("librdkafka").setLevel(logging.CRITICAL)
    stop = stop or asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stop.set)
    async with AsyncExitStack() as stack:
        stack.enter_context(lock_state(state_dir))
        if backup is not None and await asyncio.to_thread(backup.fetch, state_dir):
            log.info("the console's file was fetched from its copy")
        keys = keys_of(state_dir)
        store = stack.enter_context(closing(CaseStore(state_dir, topics, keys)))
        cases = stack.enter_context(closing(Cases(state_dir, keys)))
        outbox = stack.enter_context(closing(Outbox(state_dir, topics)))
        looks = stack.enter_context(closing(Looks(state_dir)))
        follower, sender = TopicFollower(options, topics, store), OutboxSender(options, topics, state_dir)
        pages = Pages(is_simulated=is_simulated)
        desk = Desk(cases, outbox, Links(keys), looks, programs, pages, sender.wake.set)
        metrics = ConsoleMetrics(lambda: follower.read_up_to_ms, outbox.waiting)
        applicants = metrics.counted(ApplicantPages(desk, sites.address).site(), "applicants")
        port = await stack.enter_async_context(serve(applicants, sites.host, sites.port, "--port", _nothing))
        people_at = sites.address or URL.build(scheme="http", host=sites.host, port=port)
        office = Office(desk, Programmes(state_dir), gate, lambda: _read_up_to(follower), people_at).site()
        metrics.counted(office, "office")
        metrics.add_page(office)
        _add_health(office, follower)
        office_port = await stack.enter_async_context(
            serve(office, sites.office_host, sites.office_port, "--office-port", _nothing)
        )
        upkeep = Upkeep(store, state_dir, backup, keep_ms)
        await stack.enter_async_context(_threads(follower, sender, upkeep))
        told(str(people_at), f"http://{sites.office_host}:{office_port}")
        await stop.wait()


class _threads:
    """The threads that read, send and look after the file, while the context lasts."""

    def __init__(self, follower: TopicFollower, sender: OutboxSender, upkeep: Upkeep) -> None:
        self._ended, self._sender = threading.Event(), sender
        parts: dict[str, Callable[[threading.Event], None]] = {
            "follower": follower.run,
            "sender": sender.run,
            "upkeep": upkeep.run,
        }
        self._threads = [threading.Thread(target=run, args=(self._ended,), name=name) for name, run in parts.items()]

    async def __aenter__(self) -> None:
        for thread in self._threads:
            thread.start()

    async def __aexit__(self, *error: object) -> None:
        self._ended.set()
        self._sender.wake.set()
        for thread in self._threads:
            await asyncio.to_thread(thread.join)


def _read_up_to(follower: TopicFollower) -> str:
    return "nothing yet" if follower.read_up_to_ms is None else minute(follower.read_up_to_ms)


def _add_health(office: web.Application, follower: TopicFollower) -> None:
    async def health(_: web.Request) -> web.Response:
        if follower.fault is None:
            return web.Response(text="ok\n")
        return web.Response(status=503, text=f"{follower.fault}\n")

    office.router.add_get("/healthz", health)

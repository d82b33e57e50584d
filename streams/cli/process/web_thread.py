"""A web server in a thread, for commands whose main thread is busy."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from concurrent.futures import Future
from contextlib import contextmanager

from aiohttp import web

from ...worker.web import serve


@contextmanager
def serving(app: web.Application, host: str, port: int) -> Iterator[int]:
    """Serve ``app`` from a thread while the context lasts; yields the bound port, raises what ``serve`` raises."""
    bound: Future[int] = Future()
    loop, stop = asyncio.new_event_loop(), asyncio.Event()

    async def serve_until_stopped() -> None:
        async with serve(app, host, port) as number:
            bound.set_result(number)
            await stop.wait()

    def run_loop() -> None:
        try:
            loop.run_until_complete(serve_until_stopped())
        except BaseException as error:
            if bound.done():
                raise
            bound.set_exception(error)
        finally:
            loop.close()

    thread = threading.Thread(target=run_loop, name="web", daemon=True)
    thread.start()
    number = bound.result()  # a thread that failed ends by itself: its loop may be closed already
    try:
        yield number
    finally:
        loop.call_soon_threadsafe(stop.set)
        thread.join()

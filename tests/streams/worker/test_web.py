import socket

import pytest
from aiohttp import ClientSession

from onward.streams.errors import UsageError
from onward.streams.metrics import Metrics
from onward.streams.worker.readiness import Readiness
from onward.streams.worker.web import make_app, serve


class Worker:
    state = Readiness(False, "journal/0 is 5 records behind")

    def readiness(self) -> Readiness:
        return self.state


async def test_pages_over_a_real_socket() -> None:
    metrics, worker = Metrics(), Worker()
    metrics.counts["applications"].labels("loans").inc(2)
    app = make_app(metrics, worker.readiness)

    async def get(page: str) -> tuple[int, str]:
        async with session.get(f"http://127.0.0.1:{port}/{page}") as answer:
            return answer.status, await answer.text()

    async with serve(app, "127.0.0.1", 0) as port, ClientSession() as session:
        assert await get("healthz") == (200, "ok\n")
        assert await get("readyz") == (503, "journal/0 is 5 records behind\n")
        assert "onward_ready 0.0" in (await get("metrics"))[1]
        worker.state = Readiness(True)
        assert await get("readyz") == (200, "ok\n")
        status, text = await get("metrics")
        assert status == 200
        assert "onward_ready 1.0" in text
        assert 'onward_applications_total{program="loans"} 2.0' in text
        worker.state = Readiness(False, "the work has stopped", "OSError: disk full")
        assert await get("healthz") == (503, "OSError: disk full\n")


async def test_a_taken_port_is_one_line() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(UsageError, match=rf"cannot serve on 127.0.0.1:{port} .*: choose another --web-port"):
            async with serve(make_app(Metrics(), lambda: Readiness(True)), "127.0.0.1", port):
                pass

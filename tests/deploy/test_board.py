"""The board is current, and every one of its queries gives a series on a real Prometheus."""

import asyncio
import json
import math
import shutil
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path

import pytest
from aiohttp import ClientConnectionError, ClientSession

from onward.deploy.grafana.board import FILE, ROWS, Query, queries, render
from onward.streams.metrics import Metrics
from onward.streams.readiness import Readiness
from onward.streams.web import make_app, serve

PROMETHEUS = shutil.which("prometheus")
SCRAPE_SECONDS = 0.3
PATIENCE_SECONDS = 30.0


def test_the_board_is_current_and_holds_every_query_once() -> None:
    assert FILE.read_text(encoding="utf-8") == render(), "run: make generate"
    panels = [panel for panel in json.loads(render())["panels"] if panel["type"] != "row"]
    shown = [target["expr"] for panel in panels for target in panel["targets"]]
    assert shown == [query.expression for query in queries()]
    assert len(panels) == sum(map(len, ROWS.values()))


def test_every_metric_is_on_the_board() -> None:
    text = " ".join(query.expression for query in queries())
    assert not [metric.name for metric in Metrics().declared if metric.name not in text]


def observe(metrics: Metrics) -> None:
    """What one chunk of a worker leaves behind."""
    metrics.ingested.labels("applications").inc(5)
    metrics.dead_letters.labels("not_json").inc()
    metrics.duplicates.labels("application").inc()
    metrics.applications.labels("loans").inc(4)
    metrics.decisions.labels("loans", "rejected").inc(3)
    metrics.recourses.labels("loans", "recourse").inc(2)
    metrics.fates.labels("loans", "rewarded").inc()
    metrics.outcome_delay_seconds.labels("loans").observe(3600)
    metrics.outcome_delay_steps.labels("loans").observe(4)
    metrics.recourse_latency_seconds.labels("loans").observe(0.02)
    metrics.chunk_seconds.labels("compute").observe(0.01)
    metrics.chunk_records.observe(5)
    metrics.lag_records.labels("journal", 0).set(2)
    metrics.open_recourses.labels("loans").set(7)
    metrics.waiting_events.labels(0).set(1)
    metrics.watermark_timestamp_seconds.labels(0).set(1.7e9)
    metrics.expected_reward_mean.labels("loans").set(0.4)


@pytest.fixture
async def target() -> AsyncIterator[str]:
    """HOST:PORT of a worker's pages while it works."""
    metrics = Metrics()

    async def work() -> None:
        while True:
            observe(metrics)
            await asyncio.sleep(SCRAPE_SECONDS / 3)

    async with serve(make_app(metrics, lambda: Readiness(True)), "127.0.0.1", 0) as port:
        working = asyncio.create_task(work())
        yield f"127.0.0.1:{port}"
        working.cancel()
        with suppress(asyncio.CancelledError):
            await working


@asynccontextmanager
async def prometheus(target: str, folder: Path) -> AsyncIterator[str]:
    """The address of a Prometheus that scrapes the target."""
    with socket.create_server(("127.0.0.1", 0)) as probe:
        address = f"127.0.0.1:{probe.getsockname()[1]}"
    config = folder / "prometheus.yml"
    interval = f"{round(SCRAPE_SECONDS * 1000)}ms"
    job = {"job_name": "onward", "scrape_interval": interval, "scrape_timeout": interval}
    config.write_text(json.dumps({"scrape_configs": [{**job, "static_configs": [{"targets": [target]}]}]}))
    process = await asyncio.create_subprocess_exec(
        str(PROMETHEUS),
        f"--config.file={config}",
        f"--storage.tsdb.path={folder / 'data'}",
        f"--web.listen-address={address}",
        stdout=asyncio.subprocess.DEVNULL,
        stderr=asyncio.subprocess.DEVNULL,
    )
    try:
        yield f"http://{address}"
    finally:
        process.terminate()
        await process.wait()


async def answers(session: ClientSession, server: str, query: Query) -> bool:
    """Whether the query gives a series with a number."""
    expression = query.expression.replace("$program", ".*").replace("$__rate_interval", "10s")
    async with session.get(f"{server}/api/v1/query", params={"query": expression}) as response:
        answer = await response.json()
    assert answer["status"] == "success", f"{expression}: {answer}"
    return any(not math.isnan(float(series["value"][1])) for series in answer["data"]["result"])


@pytest.mark.skipif(PROMETHEUS is None, reason="needs the program prometheus (Debian: apt-get install prometheus)")
async def test_every_query_gives_a_series(target: str, tmp_path: Path) -> None:
    missing = list(queries())
    deadline = asyncio.get_running_loop().time() + PATIENCE_SECONDS
    async with prometheus(target, tmp_path) as server, ClientSession() as session:
        while missing and asyncio.get_running_loop().time() < deadline:
            with suppress(ClientConnectionError):
                missing = [query for query in missing if not await answers(session, server, query)]
            await asyncio.sleep(SCRAPE_SECONDS)
    assert not missing

"""Stock Faust passing applications through, as its documentation has one write it: JSON in, JSON out, defaults."""

from __future__ import annotations

from collections.abc import AsyncIterable
from typing import Any

import faust

from onward.benchmarks.arena.passage import passage


def main() -> None:
    """Run until a signal."""
    way = passage()
    app = faust.App(
        way.group,
        broker=[f"kafka://{broker}" for broker in way.bootstrap.split(",")],
        value_serializer="json",
        # Not part of what is compared, and the leader topic cannot be made on every broker.
        web_enabled=False,
        topic_disable_leader=True,
    )
    applications = app.topic(way.source, key_type=bytes, key_serializer="raw")
    recourse = app.topic(way.target, key_type=bytes, key_serializer="raw")

    @app.agent(applications)
    async def forward(stream: Any) -> None:
        source: AsyncIterable[tuple[bytes, Any]] = stream.items()
        async for key, application in source:
            await recourse.send(key=key, value=application)

    faust.Worker(app, loglevel="info").execute_from_commandline()


if __name__ == "__main__":
    main()

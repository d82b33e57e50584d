"""Stock Faust passing applications through, as in its documentation: JSON in, JSON out, defaults."""

from __future__ import annotations

from collections.abc import AsyncIterable
from typing import Any

import faust

from onward.benchmarks.arena.pass_through import pass_through_args


def main() -> None:
    """Run until a signal."""
    args = pass_through_args()
    app = faust.App(
        args.group,
        broker=[f"kafka://{broker}" for broker in args.bootstrap.split(",")],
        value_serializer="json",
        # Not part of what is compared, and the leader topic cannot be made on every broker.
        web_enabled=False,
        topic_disable_leader=True,
    )
    applications = app.topic(args.source, key_type=bytes, key_serializer="raw")
    recourse = app.topic(args.target, key_type=bytes, key_serializer="raw")

    @app.agent(applications)
    async def forward(stream: Any) -> None:
        source: AsyncIterable[tuple[bytes, Any]] = stream.items()
        async for key, application in source:
            await recourse.send(key=key, value=application)

    faust.Worker(app, loglevel="info").execute_from_commandline()


if __name__ == "__main__":
    main()

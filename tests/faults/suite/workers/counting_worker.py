"""A stock Faust app: counts the applications of each partition in a table, and publishes every count."""

from __future__ import annotations

import os
from collections.abc import AsyncIterable
from typing import Any

import faust
import msgspec

CHANGELOG = "counts-changelog"
SESSION_SECONDS = 6.0


class Count(msgspec.Struct):
    """The number of applications of a partition, up to and including this one."""

    program: str
    application: str
    count: int


def name_of_count(program: str, application: str) -> str:
    """Return the ``ce_id`` of a count."""
    return f"count/{program}/{application}"


def main() -> None:
    """Run until a signal."""
    prefix = os.environ["ONWARD_TOPIC_PREFIX"]
    app = faust.App(
        os.environ["ONWARD_GROUP"],
        broker=[f"kafka://{broker}" for broker in os.environ["ONWARD_BROKERS"].split(",")],
        broker_session_timeout=SESSION_SECONDS,
        broker_heartbeat_interval=SESSION_SECONDS / 3,
        web_enabled=False,
        topic_disable_leader=True,
        topic_replication_factor=3,
        datadir=os.environ["ONWARD_STATE_DIR"],
    )
    applications = app.topic(f"{prefix}applications", key_type=bytes, key_serializer="raw", value_serializer="json")
    recourse = app.topic(f"{prefix}recourse", key_type=bytes, key_serializer="raw", value_serializer="raw")
    partitions = int(os.environ["ONWARD_PARTITIONS"])
    counts = app.Table("counts", default=int, partitions=partitions, key_type=str, value_type=int)

    @app.agent(applications)
    async def count(stream: Any) -> None:
        events: AsyncIterable[Any] = stream.events()
        async for event in events:
            partition = str(event.message.partition)
            counts[partition] += 1
            result = Count(event.value["program"], event.value["application"], counts[partition])
            headers = {"ce_id": name_of_count(result.program, result.application).encode()}
            await recourse.send(key=event.message.key, value=msgspec.json.encode(result), headers=headers)

    faust.Worker(app, loglevel="info").execute_from_commandline()


if __name__ == "__main__":
    main()

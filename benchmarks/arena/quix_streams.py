"""Quix Streams passing applications through, as its documentation has one write it: JSON in, JSON out.

Runs in an environment of its own, because it pins older versions of what Onward needs too. Key and headers go along.
"""

from __future__ import annotations

from quixstreams import Application

from onward.benchmarks.arena.passage import passage


def main() -> None:
    """Run until a signal."""
    way = passage()
    app = Application(
        broker_address=way.bootstrap,
        consumer_group=way.group,
        auto_offset_reset="earliest",
        consumer_extra_config={"fetch.wait.max.ms": way.fetch_wait_ms},
        auto_create_topics=False,
    )
    applications = app.topic(way.source, value_deserializer="json")
    recourse = app.topic(way.target, value_serializer="json")
    app.dataframe(applications).to_topic(recourse)
    app.run()


if __name__ == "__main__":
    main()

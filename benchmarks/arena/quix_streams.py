"""Quix Streams passing applications through, as in its documentation: JSON in, JSON out.

Runs in an environment of its own, because it pins older versions of what Onward needs too. Key and headers go along.
"""

from __future__ import annotations

from quixstreams import Application

from onward.benchmarks.arena.pass_through import pass_through_args


def main() -> None:
    """Run until a signal."""
    args = pass_through_args()
    app = Application(
        broker_address=args.bootstrap,
        consumer_group=args.group,
        auto_offset_reset="earliest",
        consumer_extra_config={"fetch.wait.max.ms": args.fetch_wait_ms},
        auto_create_topics=False,
    )
    applications = app.topic(args.source, value_deserializer="json")
    recourse = app.topic(args.target, value_serializer="json")
    app.dataframe(applications).to_topic(recourse)
    app.run()


if __name__ == "__main__":
    main()

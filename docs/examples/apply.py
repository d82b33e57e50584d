"""A service that uses Onward through confluent-kafka alone: a person applies, gets a recourse and carries it out.

    python docs/examples/apply.py localhost:9092 loans '{"income": 55, "debts": 9, "region": "north"}'

The service sends one application and prints the decision. It prints the recourse of a rejected person, reports that
they carried it out and improved, and prints the reward. With --decide it sends the decision itself, which a program
with `decisions: external` waits for.
docs/reference/events.md describes every event.
"""

import argparse
import json
import sys
import time
import uuid
from base64 import b64decode
from datetime import UTC, datetime
from typing import Any

from confluent_kafka import Consumer, KafkaError, Message, Producer

TIMEOUT_SECONDS = 60


def send(producer: Producer, topic: str, kind: str, event: dict[str, Any]) -> None:
    """Publish an event as JSON with CloudEvents headers."""
    headers: dict[str, str | bytes | None] = {
        "ce_specversion": "1.0",
        # An event sent again under the same id counts once: answers to several questions need several.
        "ce_id": f"{event['application']}/{kind}{event.get('question', '')}",
        "ce_source": "example/portal",
        "ce_type": f"onward.{kind}.v1",
        "ce_time": datetime.now(UTC).isoformat(),  # when the event happened, not when it is sent
        "content-type": "application/json",
    }
    producer.produce(topic, key=event["application"], value=json.dumps(event), headers=headers, on_delivery=delivered)
    producer.flush()  # a busy service calls poll(0) here and flush() at its end


def delivered(error: KafkaError | None, message: Message) -> None:
    """Exit when Kafka refused an event."""
    if error is not None:
        sys.exit(f"{message.topic()}: {error}")


def receive(consumer: Consumer, topic: str, application: str, read: dict[str, Any]) -> dict[str, Any]:
    """Return the event about an application from a topic. ``read`` keeps by topic what comes before it is wanted."""
    deadline = time.monotonic() + TIMEOUT_SECONDS
    while topic not in read and time.monotonic() < deadline:
        message = consumer.poll(1.0)
        if message is None:
            continue
        if message.error():
            sys.exit(f"reading failed: {message.error()}")
        event: dict[str, Any] = json.loads(message.value() or b"{}")
        if message.topic() == "dead-letters" and application.encode() in b64decode(event["value"] or ""):
            sys.exit(f"refused: {event['reason']}: {event['detail']}")
        if event.get("application") == application:
            read[message.topic() or ""] = event
    if topic not in read:
        sys.exit(f"nothing came on {topic} within {TIMEOUT_SECONDS} s: is a worker running?")
    found: dict[str, Any] = read[topic]
    return found


def show(recourse: dict[str, Any]) -> None:
    """Print an answer for the person."""
    if recourse["kind"] == "none":
        print(f"no way forward: {recourse['reason']}: {recourse['detail']}")
        return
    for option in recourse["options"]:
        changes = [f"{one['feature']} from {one['current']} to {one['target']}" for one in option["changes"]]
        print(f"recourse: {', '.join(changes)}")


def main() -> None:
    """Apply, read the decision and the recourse, report the outcome, read the reward."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("brokers", help="HOST:PORT, several separated by commas")
    parser.add_argument("program", help="the program applied to")
    parser.add_argument("features", type=json.loads, help="JSON: every feature of the program's spec, in raw values")
    parser.add_argument("--group", help="consumer group (default: a new one, which reads everything)")
    parser.add_argument("--decide", action="store_true", help="also send the decision, a rejection")
    args = parser.parse_args()

    connection = {"bootstrap.servers": args.brokers}  # and security.protocol, sasl.mechanism, ... where needed
    producer = Producer({**connection, "enable.idempotence": True})
    group = args.group or f"example-{uuid.uuid4()}"
    consumer = Consumer({**connection, "group.id": group, "auto.offset.reset": "earliest"})
    consumer.subscribe(["model-decisions", "recourse", "rewards", "dead-letters"])
    person, read = {"program": args.program, "application": f"example-{uuid.uuid4()}"}, dict[str, Any]()
    try:
        send(producer, "applications", "application", {**person, "features": args.features})
        if args.decide:
            send(producer, "decisions", "decision", {**person, "approved": False})
        elif receive(consumer, "model-decisions", person["application"], read)["approved"]:
            print("approved")
            return
        print("rejected")
        answer = receive(consumer, "recourse", person["application"], read)
        show(answer)
        if answer["kind"] == "recourse":
            # Ask people which option they followed: the learner learns from that one.
            followed = answer["options"][0]["id"]
            send(producer, "outcomes", "outcome", {**person, "result": "improved", "option": followed})
            reward = receive(consumer, "rewards", person["application"], read)
            print(f"{reward['fate']}: {reward['reward']}")
    finally:
        consumer.close()


if __name__ == "__main__":
    main()

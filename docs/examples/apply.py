"""A service of your own beside Onward, with confluent-kafka alone: somebody applies, gets a way forward, and takes it.

    python docs/examples/apply.py localhost:9092 loans '{"income": 21, "debts": 7, "region": "north"}'

Sends one application, prints the recourse that comes back, reports that the person carried it out and is better off
now, and prints the reward. With --decide it also sends the decision, for a program whose spec says so (`decisions:
external`). Everything that is sent and read is described in docs/events.md.
"""

import argparse
import json
import sys
import time
import uuid
from base64 import b64decode
from datetime import UTC, datetime

from confluent_kafka import Consumer, Producer

PATIENCE_SECONDS = 60


def send(producer, topic, kind, event):
    """Publish an event of this kind: JSON under the CloudEvents headers by which Onward knows it."""
    headers = {
        "ce_specversion": "1.0",
        "ce_id": f"{event['application']}/{kind}",  # the same id again is the same event again, and counts once
        "ce_source": "example/portal",
        "ce_type": f"onward.{kind}.v1",
        "ce_time": datetime.now(UTC).isoformat(),  # when it happened, not when it is sent
        "content-type": "application/json",
    }
    producer.produce(topic, key=event["application"], value=json.dumps(event), headers=headers, on_delivery=delivered)
    producer.flush()  # a busy service calls poll(0) here, and flush() before it ends


def delivered(error, message):
    """End when Kafka did not take an event."""
    if error is not None:
        sys.exit(f"{message.topic()}: {error}")


def receive(consumer, application):
    """The next event about an application: its recourse or its reward."""
    deadline = time.monotonic() + PATIENCE_SECONDS
    while time.monotonic() < deadline:
        message = consumer.poll(1.0)
        if message is None:
            continue
        if message.error():
            sys.exit(f"reading failed: {message.error()}")
        event = json.loads(message.value())
        if message.topic() == "dead-letters" and application.encode() in b64decode(event["value"] or ""):
            sys.exit(f"refused: {event['reason']}: {event['detail']}")
        if event.get("application") == application:
            return event
    sys.exit(f"nothing came within {PATIENCE_SECONDS} s: was the person approved? is a worker running?")


def show(recourse):
    """Print an answer as one would tell the person."""
    if recourse["kind"] == "none":
        print(f"no way forward: {recourse['reason']}: {recourse['detail']}")
        return
    for option in recourse["options"]:
        changes = [f"{one['feature']} from {one['current']} to {one['target']}" for one in option["changes"]]
        print(f"recourse: {', '.join(changes)} (chance to carry it out {option['execution_probability']:.2f})")


def main():
    """Apply, read the recourse, report the outcome, read the reward."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("brokers", help="HOST:PORT, several separated by commas")
    parser.add_argument("program", help="the program applied to")
    parser.add_argument("features", type=json.loads, help="JSON: every feature of the program's spec, in raw values")
    parser.add_argument("--group", help="consumer group (default: a new one, which reads everything)")
    parser.add_argument("--decide", action="store_true", help="send the decision, a rejection, too")
    given = parser.parse_args()

    connection = {"bootstrap.servers": given.brokers}  # and security.protocol, sasl.mechanism, ... where needed
    producer = Producer({**connection, "enable.idempotence": True})
    group = given.group or f"example-{uuid.uuid4()}"
    consumer = Consumer({**connection, "group.id": group, "auto.offset.reset": "earliest"})
    consumer.subscribe(["recourse", "rewards", "dead-letters"])
    person = {"program": given.program, "application": f"example-{uuid.uuid4()}"}
    try:
        send(producer, "applications", "application", {**person, "features": given.features})
        if given.decide:
            send(producer, "decisions", "decision", {**person, "approved": False})
        answer = receive(consumer, person["application"])
        show(answer)
        if answer["kind"] == "recourse":
            send(producer, "outcomes", "outcome", {**person, "result": "improved"})
            reward = receive(consumer, person["application"])
            print(f"{reward['fate']}: {reward['reward']}")
    finally:
        consumer.close()


if __name__ == "__main__":
    main()

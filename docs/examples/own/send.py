"""Ada applied a quarter of an hour ago and withdrew; prints her recourse, and that her withdrawal is final.

python send.py localhost:9092
"""

import json
import sys
import time
from datetime import UTC, datetime, timedelta
from typing import Any

from confluent_kafka import Consumer, Producer

ADA = {"program": "loans", "application": "ada"}
FEATURES = {"income": 55, "debts": 9, "region": "north"}


def send(producer: Producer, kind: str, event: dict[str, Any], minutes_ago: int) -> None:
    """Publish an event as JSON with CloudEvents headers."""
    happened = datetime.now(UTC) - timedelta(minutes=minutes_ago)
    headers: dict[str, str | bytes | None] = {
        "ce_specversion": "1.0",
        "ce_id": f"{event['application']}/{kind}",
        "ce_source": "example/portal",
        "ce_type": f"onward.{kind}.v1",
        "ce_time": happened.isoformat(),
        "content-type": "application/json",
    }
    producer.produce(f"{kind}s", key=event["application"], value=json.dumps(event), headers=headers)
    producer.flush()


producer = Producer({"bootstrap.servers": sys.argv[1]})
consumer = Consumer({"bootstrap.servers": sys.argv[1], "group.id": "own", "auto.offset.reset": "earliest"})
consumer.subscribe(["recourse", "confirmations"])
send(producer, "application", {**ADA, "features": FEATURES}, minutes_ago=15)
send(producer, "withdrawal", ADA, minutes_ago=14)
# Event time goes on with the applications of others.
send(producer, "application", {"program": "loans", "application": "bob", "features": FEATURES}, minutes_ago=0)

deadline, found = time.monotonic() + 60, set[str]()
while len(found) < 2 and time.monotonic() < deadline:
    message = consumer.poll(1.0)
    if message is not None and not message.error():
        event = json.loads(message.value() or b"{}")
        if event["application"] == "ada":
            found.add(message.topic() or "")
            print(message.topic(), event.get("policy", "ada has withdrawn"))
consumer.close()
if len(found) < 2:
    sys.exit("the worker does not answer")

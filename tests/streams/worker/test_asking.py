"""A worker asks people over real sockets, and goes on with their questions when it is started again."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import msgspec

import onward
from onward.schemas.events import Answer, Application
from onward.schemas.headers import cloud_event_headers
from onward.schemas.kinds import ce_type
from onward.streams.cli.process.worker_process import WorkerProcess
from onward.streams.kafka.client import EventWriter
from onward.streams.kafka.embedded import EmbeddedBroker
from onward.streams.settings import BrokerSettings
from onward.tests.support.installations import TOPICS, read_events
from onward.tests.support.loans import reviewed_spec, write_loans

POLICY = "policy: {objective: cost, generator: plans, choice: protoar, cost: mixed, options: 3}"
ASKS = f"{POLICY}\nelicitation: {{questions: 2, tolerance: 0, response: noiseless, deadline: PT1H}}"
PEOPLE = {"ada": {"income": 35, "debts": 6, "region": "north"}, "eve": {"income": 20, "debts": 3, "region": "south"}}

HOURS_AGO = {"ada": 0, "eve": 2}
"""The deadline is an hour: it is over for Eve."""
HOUR_MS = 3_600_000


def send(broker: EmbeddedBroker, topic: str, event: Any, hours_ago: int = 0) -> None:
    time_ms = time.time_ns() // 1_000_000 - hours_ago * HOUR_MS
    with EventWriter(broker.options()) as writer:
        headers = cloud_event_headers(f"{topic}-{time_ms}", "test", ce_type(event), time_ms)
        writer.send(topic, msgspec.json.encode(event), key=event.application.encode(), headers=headers)


def test_one_person_answers_and_another_never_does(tmp_path: Path) -> None:
    plain = "policy: {objective: cost, generator: search, choice: protoar, options: 3}"
    (tmp_path / "loans.yaml").write_text(reviewed_spec().replace(plain, ASKS))
    write_loans(tmp_path / "loans.csv")
    onward.train(tmp_path / "loans.csv", tmp_path / "loans.yaml", tmp_path / "model", estimator="logistic_regression")
    flags = ["--spec", str(tmp_path / "loans.yaml"), "--state-dir", str(tmp_path / "state"), "--no-web"]
    flags += ["--fetch-wait-seconds", "0.01"]
    with EmbeddedBroker(dict.fromkeys((*TOPICS.inputs, TOPICS.journal, *TOPICS.outputs), 2)) as broker:
        settings = BrokerSettings(brokers=(broker.bootstrap,))
        with WorkerProcess(settings, flags, tmp_path / "first.log"):
            for name, features in PEOPLE.items():
                send(broker, TOPICS.applications, Application("loans", name, features), HOURS_AGO[name])
            first = read_events(broker, TOPICS.questions, 2)
            assert {question["application"]: question["number"] for question in first} == {"ada": 1, "eve": 1}
        with WorkerProcess(settings, flags, tmp_path / "second.log"):
            for number in (1, 2):
                send(broker, TOPICS.answers, Answer("loans", "ada", "1", number))
                asked = read_events(broker, TOPICS.questions, 3)
            answers = {answer["application"]: answer for answer in read_events(broker, TOPICS.recourse, 2)}
    assert [question["number"] for question in asked if question["application"] == "ada"] == [1, 2]
    assert answers["ada"]["answers"] == [1, 1]
    assert answers["eve"]["answers"] == []
    assert all(answer["regret"] >= 0.0 and answer["options"] for answer in answers.values())

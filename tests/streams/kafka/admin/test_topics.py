from __future__ import annotations

import uuid

import pytest

from onward.streams.errors import BrokerError
from onward.streams.kafka.admin.topics import check_topics, create_topics
from onward.streams.topics import TopicPlan, Topics, plan


@pytest.mark.kafka
def test_topics_are_created_once_and_as_planned(real):
    plans = list(plan(Topics(prefix=f"{uuid.uuid4().hex}-"), 3, 1))
    assert len(check_topics(real.options(), plans)) == len(plans)
    assert create_topics(real.options(), plans) == [wanted.name for wanted in plans]
    assert create_topics(real.options(), plans) == []
    assert check_topics(real.options(), plans) == []


@pytest.mark.kafka
def test_every_mismatch_is_one_line(real):
    name = real.topic(2)
    wanted = [
        TopicPlan(
            name,
            3,
            2,
            {"cleanup.policy": "compact", "retention.ms": "604800000"},
            {"max.message.bytes": 2_000_000, "segment.bytes": 1_000},
        ),
        TopicPlan("nowhere", 4, 1, {}),
    ]
    assert check_topics(real.options(), wanted) == [
        f"{name}: has 2 partitions, should have 3",
        f"{name}: has 1 replicas of each partition, should have 2",
        f"{name}: cleanup.policy is delete, should be compact",
        f"{name}: max.message.bytes is 1048588, should be 2000000 or more",
        "nowhere: does not exist, should have 4 partitions",
    ]


@pytest.mark.kafka
def test_what_kafka_refuses_is_told(real):
    with pytest.raises(BrokerError, match=r"topic .* cannot be created: .*replication factor"):
        create_topics(real.options(), [TopicPlan(uuid.uuid4().hex, 1, 3, {})])


def test_the_embedded_broker_gives_new_topics_four_partitions(embedded):
    name = uuid.uuid4().hex
    assert create_topics(embedded.options(), [TopicPlan(name, 4, 1, {"retention.ms": "1"})]) == [name]
    assert check_topics(embedded.options(), [TopicPlan(name, 4, 1, {"retention.ms": "1"})]) == []
    assert check_topics(embedded.options(), [TopicPlan(name, 5, 1, {})]) == [f"{name}: has 4 partitions, should have 5"]
    with pytest.raises(BrokerError, match="has 4 partitions on a broker without admin calls, should have 3"):
        create_topics(embedded.options(), [TopicPlan(uuid.uuid4().hex, 3, 1, {})])


def test_no_broker_is_told(embedded):
    options = embedded.options(brokers=("127.0.0.1:1",), connect_timeout_ms=300)
    for call in (create_topics, check_topics):
        with pytest.raises(BrokerError, match=r"no Kafka broker answers at 127\.0\.0\.1:1 within 0\.3 s"):
            call(options, [TopicPlan("t", 1, 1, {})])

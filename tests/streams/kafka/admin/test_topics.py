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
def test_a_refusal_of_kafka_is_an_error(real):
    with pytest.raises(BrokerError, match=r"topic .* cannot be created: .*replication factor"):
        create_topics(real.options(), [TopicPlan(uuid.uuid4().hex, 1, 3, {})])


def test_the_embedded_broker_gives_new_topics_four_partitions(embedded):
    name = uuid.uuid4().hex
    assert create_topics(embedded.options(), [TopicPlan(name, 4, 1, {"retention.ms": "1"})]) == [name]
    assert check_topics(embedded.options(), [TopicPlan(name, 4, 1, {"retention.ms": "1"})]) == []
    assert check_topics(embedded.options(), [TopicPlan(name, 5, 1, {})]) == [f"{name}: has 4 partitions, should have 5"]
    with pytest.raises(BrokerError, match="has 4 partitions on a broker without admin calls, should have 3"):
        create_topics(embedded.options(), [TopicPlan(uuid.uuid4().hex, 3, 1, {})])


@pytest.mark.parametrize("call", [create_topics, check_topics])
def test_no_broker_is_an_error_within_the_connect_timeout(call, unreachable):
    with pytest.raises(BrokerError, match=f"no Kafka broker answers at {unreachable.bootstrap} within 0.6 s"):
        call(unreachable, [TopicPlan("t", 1, 1, {})])

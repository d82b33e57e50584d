"""People apply for as long as the suite needs them to."""

from __future__ import annotations

import time

import numpy as np
import pytest

from onward.faults.people import everybody
from onward.faults.sender import Sender
from onward.streams.kafka.client import EventReader
from onward.streams.topics import Topics, plan

RATE, SECONDS = 50.0, 0.4


@pytest.fixture
def sender(broker):
    topics = Topics(prefix=f"{broker.group}-")
    broker.create(plan(topics, 1, 1))
    people = ([turn[0]._replace(seconds=0.0)] for turn in everybody(topics, np.random.default_rng(1)))
    with Sender(broker.options(), people, RATE, SECONDS) as sender:
        sender.topic = topics.applications
        yield sender


def test_it_ends_after_its_time(sender):
    sender.finish()
    assert len(sender.sent) == RATE * SECONDS


def test_while_it_is_open_people_go_on_more_slowly(broker, sender):
    sender.open = True
    time.sleep(3 * SECONDS)
    assert not sender.done
    sender.open = False
    sender.finish()
    more = len(sender.sent) - RATE * SECONDS
    assert 0 < more < RATE * SECONDS
    with EventReader(broker.options(), [sender.topic]) as reader:
        found = reader.poll(2.0)
        while not reader.caught_up:
            found += reader.poll(2.0)
    assert len(found) == len(sender.sent)

"""The sender of the fault suite."""

from __future__ import annotations

import time

import numpy as np
import pytest

from onward.streams.kafka.client import EventReader
from onward.streams.topics import Topics, plan
from onward.tests.faults.suite.environment import read_to_end
from onward.tests.faults.suite.load.applicants import applicant_turns
from onward.tests.faults.suite.load.sender import Sender

RATE, SECONDS = 50.0, 0.4


@pytest.fixture
def sender(broker):
    topics = Topics(prefix=f"{broker.group}-")
    broker.create(plan(topics, 1, 1))
    turns = ([turn[0]._replace(seconds=0.0)] for turn in applicant_turns(topics, np.random.default_rng(1)))
    with Sender(broker.options(), turns, RATE, SECONDS) as sender:
        sender.topic = topics.applications
        yield sender


def test_it_ends_after_its_time(sender):
    sender.finish()
    assert len(sender.sent) == RATE * SECONDS


def test_while_it_is_extended_it_goes_on_at_a_lower_rate(broker, sender):
    sender.extended = True
    time.sleep(3 * SECONDS)
    assert not sender.is_done
    sender.extended = False
    sender.finish()
    more = len(sender.sent) - RATE * SECONDS
    assert 0 < more < RATE * SECONDS
    with EventReader(broker.options(), [sender.topic]) as reader:
        assert len(read_to_end(reader)) == len(sender.sent)

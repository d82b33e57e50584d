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
    sender = Sender(broker.options(), turns, RATE, SECONDS)
    sender.topic = topics.applications
    return sender


def test_it_ends_after_its_time(sender):
    with sender:
        sender.finish()
    assert len(sender.sent) == RATE * SECONDS


def test_while_it_is_extended_it_goes_on_at_a_lower_rate(broker, sender):
    sender.extended = True
    started = time.monotonic()
    with sender:
        while len(sender.sent) < RATE * SECONDS + 3:
            time.sleep(0.05)
        assert not sender.is_done
        sender.extended = False
        sender.finish()
    passed = time.monotonic() - started
    assert len(sender.sent) - RATE * SECONDS < RATE * (passed - SECONDS) / 2
    with EventReader(broker.options(), [sender.topic]) as reader:
        assert len(read_to_end(reader)) == len(sender.sent)

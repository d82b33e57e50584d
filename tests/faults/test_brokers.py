"""Brokers that start slowly, or end while they start, as on a busy machine."""

from __future__ import annotations

import subprocess

import pytest

from onward.streams.errors import BrokerError
from onward.tests.faults.suite.brokers import BROKERS, Brokers

UP = "echo Kafka Server started; exec sleep 60"
SLOW = f"sleep 0.5; {UP}"
FAILS_ONCE = f"[ -e $0.once ] || {{ touch $0.once; exit 1; }}; {UP}"
ALWAYS_FAILS = "echo no; exit 1"


class ScriptedBrokers(Brokers):
    """Brokers that run a shell script instead of Kafka."""

    starts = 0

    def __init__(self, folder, script, **options):
        self.script = script
        super().__init__(folder, **options)

    def run_java(self, heap, main, properties, log):
        if isinstance(main, list):
            return subprocess.Popen(["true"])
        self.starts += 1
        return subprocess.Popen(["sh", "-c", self.script, str(properties)], stdout=log, stderr=log)


def test_the_suite_waits_for_a_broker_that_starts_slowly(tmp_path):
    with ScriptedBrokers(tmp_path, SLOW, start_seconds=0.3) as brokers:
        assert brokers.starts == BROKERS


def test_a_broker_that_ends_while_it_starts_is_started_again(tmp_path):
    with ScriptedBrokers(tmp_path, FAILS_ONCE) as brokers:
        assert brokers.starts == 2 * BROKERS
        brokers.kill(2)
        brokers.restart(2)
        assert brokers.starts == 2 * BROKERS + 1


def test_a_broker_that_always_ends_is_given_up(tmp_path):
    with (
        pytest.raises(BrokerError, match="broker 1 did not start: no"),
        ScriptedBrokers(tmp_path, ALWAYS_FAILS),
    ):
        pass

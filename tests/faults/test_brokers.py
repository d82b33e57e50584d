"""Brokers that take long to start, or end while they do, as they may on a busy machine."""

from __future__ import annotations

import subprocess

import pytest

from onward.benchmarks.arena import kafka_cluster
from onward.faults.brokers import BROKERS, Brokers
from onward.streams.errors import BrokerError

UP = "echo Kafka Server started; exec sleep 60"
SLOW = f"sleep 1.5; {UP}"
TWICE = f"[ -e $0.once ] || {{ touch $0.once; exit 1; }}; {UP}"
NEVER = "echo no; exit 1"


def brokers(folder, script):
    class Scripted(Brokers):
        starts = 0

        def _java(self, heap, main, properties, log):
            if isinstance(main, list):
                return subprocess.Popen(["true"])
            self.starts += 1
            return subprocess.Popen(["sh", "-c", script, str(properties)], stdout=log, stderr=log)

    return Scripted(folder)


def test_one_that_takes_longer_than_its_time_is_waited_for(tmp_path, monkeypatch):
    monkeypatch.setattr(kafka_cluster, "_START_SECONDS", 1.0)
    with brokers(tmp_path, SLOW) as found:
        assert found.starts == BROKERS


def test_one_that_ends_while_it_starts_is_started_again(tmp_path):
    with brokers(tmp_path, TWICE) as found:
        assert found.starts == 2 * BROKERS
        found.kill(2)
        found.restart(2)
        assert found.starts == 2 * BROKERS + 1


def test_one_that_ends_again_and_again_is_given_up(tmp_path):
    with pytest.raises(BrokerError, match="broker 1 did not start: no"), brokers(tmp_path, NEVER):
        pass

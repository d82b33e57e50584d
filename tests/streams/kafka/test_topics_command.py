import uuid
from typing import Any

import pytest

from onward.streams import cli
from onward.streams.journal.width import WIDTH_HEADER
from onward.streams.kafka.client import EventWriter
from onward.streams.kafka.embedded import EmbeddedBroker
from onward.streams.topics import Topics

TOPICS = len([*Topics().inputs, Topics().journal, *Topics().outputs])


@pytest.mark.kafka
def test_topics_are_created_once_and_checked(cluster: Any, capsys: pytest.CaptureFixture[str]) -> None:
    prefix = f"cli-{uuid.uuid4().hex}."
    there = ["--brokers", cluster.bootstrap, "--topic-prefix", prefix, "--replication", "1"]
    assert cli.main(["topics", "check", *there]) == 3
    shown = capsys.readouterr()
    assert f"{prefix}journal: does not exist, should have 6 partitions" in shown.out
    assert shown.err.startswith(f"onward: not as planned: {TOPICS} settings of the topics;")
    assert cli.main(["topics", "create", *there]) == 0
    shown = capsys.readouterr().out.splitlines()
    assert (len(shown), shown[-1]) == (TOPICS + 1, f"{TOPICS} topics are as planned")
    assert cli.main(["topics", "create", *there]) == 0
    assert capsys.readouterr().out == f"{TOPICS} topics are as planned\n"
    assert cli.main(["topics", "check", *there, "--partitions", "4"]) == 3
    assert f"{prefix}journal: has 6 partitions, should have 4" in capsys.readouterr().out


def test_an_invalid_broker_address_is_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["topics", "check", "--brokers", "nowhere"]) == 2
    assert capsys.readouterr().err == "onward: brokers are 'nowhere': give host:port, several separated by commas\n"


@pytest.mark.attack
def test_partitions_that_were_added_to_the_journal_are_not_as_planned(capsys: pytest.CaptureFixture[str]) -> None:
    topics = Topics()
    with EmbeddedBroker(dict.fromkeys((*topics.inputs, topics.journal, *topics.outputs), 3)) as broker:
        check = ["topics", "check", "--brokers", broker.bootstrap, "--replication", "1", "--partitions", "3"]
        assert cli.main(check) == 0
        with EventWriter(broker.options()) as writer:
            writer.send(topics.journal, b"[]", partition=0, headers=[(WIDTH_HEADER, b"3")])
        assert cli.main(check) == 0
        with EventWriter(broker.options()) as writer:
            writer.send(topics.journal, b"[]", partition=0, headers=[(WIDTH_HEADER, b"1")])
        capsys.readouterr()
        assert cli.main(check) == 3
    shown = capsys.readouterr()
    assert "journal: its records were written for 1 partitions, should be for 3: partitions were added" in shown.out
    assert shown.err.startswith("onward: not as planned: 1 setting of the topics;")

import uuid
from typing import Any

import pytest

from onward.streams import cli
from onward.streams.topics import Topics

TOPICS = len([*Topics().inputs, Topics().journal, *Topics().outputs])


@pytest.mark.kafka
def test_topics_are_created_once_and_checked(cluster: Any, capsys: pytest.CaptureFixture[str]) -> None:
    prefix = f"cli-{uuid.uuid4().hex}."
    there = ["--brokers", cluster.bootstrap, "--topic-prefix", prefix, "--replication", "1"]
    assert cli.main(["topics", "check", *there]) == 3
    shown = capsys.readouterr()
    assert f"{prefix}journal: does not exist, should have 6 partitions" in shown.out
    assert shown.err.startswith(f"onward: {TOPICS} of the topics' settings are not as planned")
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

import json

import pytest

from onward.streams import cli
from onward.streams.kafka.embedded import EmbeddedBroker
from onward.streams.topics import Topics


@pytest.fixture
def broker() -> EmbeddedBroker:
    topics = Topics(prefix="eu.")
    with EmbeddedBroker(dict.fromkeys((*topics.inputs, topics.journal, *topics.outputs), 2)) as broker:
        yield broker


def test_json_has_every_partition_and_a_lag_only_where_workers_read(
    broker: EmbeddedBroker, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.main(["status", "--brokers", broker.bootstrap, "--topic-prefix", "eu.", "--json"]) == 0
    answer = json.loads(capsys.readouterr().out)
    lags = {(row["topic"], row["partition"]): row["lag"] for row in answer["topics"]}
    assert len(lags) == 16
    assert lags["eu.journal", 1] == 0
    assert lags["eu.recourse", 0] is None


def test_tables_name_every_topic(broker: EmbeddedBroker, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["status", "--brokers", broker.bootstrap, "--topic-prefix", "eu."]) == 0
    text = capsys.readouterr().out
    topics = Topics(prefix="eu.")
    assert all(name in text for name in (*topics.inputs, topics.journal, *topics.outputs))


def test_no_kafka_and_no_ledgers_have_their_codes(
    broker: EmbeddedBroker, capsys: pytest.CaptureFixture[str], tmp_path: object
) -> None:
    there = ["status", "--brokers", broker.bootstrap, "--topic-prefix", "eu."]
    assert cli.main([*there, "--state-dir", str(tmp_path)]) == 4
    assert "there are no ledgers (*.sqlite) in" in capsys.readouterr().err

from __future__ import annotations

import pytest

from onward.benchmarks import face, recovery, workers


@pytest.mark.kafka
@pytest.mark.usefixtures("own_brokers")
def test_a_killed_worker_is_ready_again():
    rows = list(recovery.recovery(face.parse(recovery.Args, None, ["--quick", "--open", "500"])))
    values = {row.name: row.value for row in rows}
    for kind in ("steps", "time"):
        assert values[f"{kind} window, 500 open, resident"] > 10
        for way in ("with its ledger", "from a snapshot", "from the journal alone"):
            assert values[f"{kind} window, 500 open, ready {way}"] > 0


@pytest.mark.parametrize(("benchmark", "measure"), [(recovery, recovery.recovery), (workers, workers.workers)])
def test_without_a_real_kafka_there_is_nothing_to_measure(benchmark, measure, monkeypatch, capsys):
    monkeypatch.setattr(benchmark, "unavailable", lambda: "no Kafka here")
    assert list(measure(face.parse(benchmark.Args, None, ["--quick"]))) == []
    assert "all is left out: no Kafka here" in capsys.readouterr().err

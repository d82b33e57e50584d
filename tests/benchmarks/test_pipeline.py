from __future__ import annotations

import json

import pytest

from onward.benchmarks import face
from onward.benchmarks.pipeline import AIOKAFKA, CONFLUENT, FAUST, ONWARD, QUIX, QUIX_PYTHON, Args, pipeline


def test_the_pipeline_serves_all_contenders_on_the_embedded_broker(tmp_path, capsys):
    file = tmp_path / "rows.json"
    sizes = ["--applications", "300", "--rates", "200", "--latency-seconds", "0.5"]
    assert face.run(Args, pipeline, ["--quick", "--broker", "embedded", *sizes, "--json", str(file)]) == 0
    values = {row["name"]: row["value"] for row in json.loads(file.read_text())}
    for name in (ONWARD, FAUST, AIOKAFKA, CONFLUENT):
        assert min(values[f"{name}, by the clock"], values[f"{name}, by its CPU"]) > 0
        assert 0 < values[f"{name}, p50 at 200/s"] <= values[f"{name}, p99 at 200/s"]
    assert f"{QUIX} is left out" in capsys.readouterr().err


@pytest.mark.kafka
@pytest.mark.usefixtures("own_brokers")
@pytest.mark.skipif(not QUIX_PYTHON.exists(), reason="make bench-pipeline installs Quix Streams")
def test_quix_streams_takes_part_on_a_real_kafka():
    sizes = ["--applications", "300", "--rates", "200", "--latency-seconds", "0.5"]
    rows = list(pipeline(face.parse(Args, None, ["--quick", "--broker", "real", *sizes])))
    values = {row.name: row.value for row in rows}
    assert values[f"{QUIX}, by its CPU"] > 0
    assert values[f"{QUIX}, p99 at 200/s"] > 0

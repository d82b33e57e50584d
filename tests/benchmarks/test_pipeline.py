from __future__ import annotations

import json

import pytest

from onward.benchmarks import face
from onward.benchmarks.arena.contender import Usage
from onward.benchmarks.pipeline import (
    AIOKAFKA,
    CONFLUENT,
    FAUST,
    ONWARD,
    OTHER,
    QUIX,
    QUIX_PYTHON,
    Args,
    Measurements,
    _latency_rows,
    _pair_rows,
    _throughput_rows,
    _Window,
    _window_rows,
    pipeline,
)


@pytest.mark.slow
def test_the_pipeline_serves_all_contenders_on_the_embedded_broker(tmp_path, capsys):
    file = tmp_path / "rows.json"
    sizes = ["--applications", "300", "--rates", "200", "--latency-seconds", "0.5", "--snapshot-seconds", "0.05"]
    assert face.run(Args, pipeline, ["--quick", "--broker", "embedded", *sizes, "--json", str(file)]) == 0
    values = {row["name"]: row["value"] for row in json.loads(file.read_text())}
    for name in (ONWARD, FAUST, AIOKAFKA, CONFLUENT):
        assert min(values[f"{name}, by the clock"], values[f"{name}, by its CPU"]) > 0
        assert 0 < values[f"{name}, p50 at 200/s"] <= values[f"{name}, p99 at 200/s"]
    assert f"{ONWARD}, snapshots in a throughput run" in values
    assert 0 < values[f"{ONWARD} as drafted, by its CPU, seed 0"] < values[f"{ONWARD}, by its CPU"]
    assert values[f"{ONWARD}, snapshots in the run at 200/s"] >= 2
    assert f"{QUIX} is left out" in capsys.readouterr().err


def test_a_run_in_which_no_snapshot_was_taken_is_told(capsys):
    found = Measurements()
    with found.measuring("a run", ONWARD, lambda: 3):
        pass
    assert found.snapshots == {"a run": [0]}
    assert f"{ONWARD}: 0 snapshots of its ledger in a run (too few: " in capsys.readouterr().err
    (row,) = found.snapshot_rows()
    assert (row.value, row.reached) == (0, False)


def test_the_aims_are_ratios_to_stock_faust_of_the_same_run():
    usages = {ONWARD: [Usage(1.0, 1.0)], FAUST: [Usage(3.0, 5.0)]}
    aims = [row for row in _throughput_rows(usages, 1000) if row.aim is not None]
    assert [(row.name, row.value, row.aim, row.reached) for row in aims] == [
        (f"{ONWARD} / {FAUST}, by CPU", 5, 4, True)
    ]
    waits = {ONWARD: {500: [0.01, 0.3, 0.4]}, FAUST: {500: [0.1, 0.1, 0.1]}}
    p50, p99 = (row for row in _latency_rows(waits) if row.aim is not None)
    assert (p50.name, p50.value, p50.aim, p50.reached) == (f"{ONWARD}, p50 at 500/s", 0.01, 0.015, True)
    assert (p99.name, p99.aim, p99.reached) == (f"{ONWARD} / {FAUST}, p99 at 500/s", 1.0, False)
    assert p99.value == pytest.approx(3.0)


def test_versions_are_compared_pair_by_pair():
    usages = {ONWARD: [Usage(1, 2), Usage(1, 4), Usage(1, 1)], OTHER: [Usage(1, 1), Usage(1, 4), Usage(1, 3)]}
    *pairs, ratio = _pair_rows(usages, 100)
    assert [(row.value, row.reference) for row in pairs] == [(50, 100), (25, 25), (100, pytest.approx(100 / 3))]
    assert (ratio.value, ratio.aim, ratio.reached) == (1.0, 1.2, False)


def test_latencies_of_versions_are_compared_window_by_window():
    own = [_Window([0.01, 0.04, 0.05], 1e-4), _Window([0.03, 0.9, 1.0], 3e-4), _Window([0.02, 0.02, 0.05], 2e-4)]
    other = [_Window([0.02, 0.04, 0.05], 2e-4), _Window([0.03, 0.3, 1.0], 1e-4), _Window([0.05, 0.05, 0.1], 2e-4)]
    rows = {row.name: row for row in _window_rows({500: {ONWARD: own, OTHER: other}})}
    assert rows[f"{ONWARD}, p50 at 500/s"].value == 0.02
    assert rows[f"{ONWARD}, p50 at 500/s"].reference == 0.03
    ratios = [rows[f"{ONWARD} / {OTHER}, {what} at 500/s"] for what in ("p50", "p99", "CPU an application")]
    assert [row.value for row in ratios] == [0.5, 1.0, 1.0]
    assert [row.reached for row in ratios] == [True, True, None]


@pytest.mark.kafka
@pytest.mark.usefixtures("own_brokers")
@pytest.mark.skipif(not QUIX_PYTHON.exists(), reason="make bench-pipeline installs Quix Streams")
def test_quix_streams_takes_part_on_a_real_kafka():
    sizes = ["--applications", "300", "--rates", "200", "--latency-seconds", "0.5"]
    rows = list(pipeline(face.parse(Args, None, ["--quick", "--broker", "real", *sizes])))
    values = {row.name: row.value for row in rows}
    assert values[f"{QUIX}, by its CPU"] > 0
    assert values[f"{QUIX}, p99 at 200/s"] > 0

"""A run of the tests on a real Kafka gets one, or ends with the reason why there is none."""

from __future__ import annotations

from pathlib import Path

import pytest

from onward.tests.support.forked_process import ForkedProcess

ROOT = Path(__file__).resolve().parents[1]
TESTS = "tests/streams/kafka/admin/test_topics.py"


def collect(folder: Path, **environment: str) -> tuple[int | None, str]:
    """Collect the tests on a real Kafka of one file where KAFKA_HOME is an empty folder; return code and output."""
    log, options = folder / "log", ["--collect-only", "-p", "no:cacheprovider", "-m", "kafka", TESTS]
    with ForkedProcess(pytest.main, options, log, {"KAFKA_HOME": str(folder), **environment}, ROOT) as process:
        return process.wait(60), log.read_text()


def test_without_a_broker_the_run_fails_with_one_line(tmp_path: Path) -> None:
    code, output = collect(tmp_path)
    assert code == pytest.ExitCode.USAGE_ERROR
    (line,) = (line for line in output.splitlines() if "ERROR" in line)
    assert line.startswith(f"ERROR: tests on a real Kafka are asked for, and there is no Kafka in {tmp_path}")
    assert all(way in line for way in ("KAFKA_HOME", "ONWARD_KAFKA_BOOTSTRAP", "Docker"))


def test_a_broker_that_is_named_is_used(tmp_path: Path) -> None:
    code, output = collect(tmp_path, ONWARD_KAFKA_BOOTSTRAP="kafka:9092")
    assert code == 0, output
    assert "test_a_refusal_of_kafka_is_an_error" in output

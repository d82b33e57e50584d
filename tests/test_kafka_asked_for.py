"""Whoever asks for the tests on a real Kafka gets them, or is told why not."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]


def collect(folder: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    """Collect one file's tests where KAFKA_HOME is an empty folder."""
    clean = {name: value for name, value in os.environ.items() if not name.startswith(("ONWARD_", "PYTEST_"))}
    return subprocess.run(
        [sys.executable, "-m", "pytest", "--collect-only", "-m", "kafka", "tests/streams/kafka/test_topics.py"],
        cwd=ROOT,
        env={**clean, "KAFKA_HOME": str(folder), **environment},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


def test_without_a_broker_the_run_fails_in_one_line(tmp_path):
    run = collect(tmp_path)
    assert run.returncode == pytest.ExitCode.USAGE_ERROR
    (line,) = run.stderr.strip().splitlines()
    assert line.startswith(f"ERROR: tests on a real Kafka are asked for, and there is no Kafka in {tmp_path}")
    assert all(way in line for way in ("KAFKA_HOME", "ONWARD_KAFKA_BOOTSTRAP", "Docker"))


def test_a_broker_that_is_named_will_do(tmp_path):
    run = collect(tmp_path, ONWARD_KAFKA_BOOTSTRAP="kafka:9092")
    assert run.returncode == 0, run.stderr
    assert "test_what_kafka_refuses_is_told" in run.stdout

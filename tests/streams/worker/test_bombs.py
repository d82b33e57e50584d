"""A worker with little memory among bombs: it answers everybody, and hardly grows."""

from __future__ import annotations

import asyncio
import resource
import sys
import time
from pathlib import Path

import msgspec
import pytest

from onward.schemas.events import Application, Model
from onward.streams.kafka.client import EventReader
from onward.streams.kafka.embedded import EmbeddedBroker
from onward.streams.topics import Topics
from onward.tests.support.bombs import bomb, many_records
from onward.tests.support.model_bombs import bomb_bundle, onnx_bomb, trees_bomb
from onward.tests.support.process import WatchedProcess, resident_bytes
from onward.tests.support.programs import POLICIES, write_programs
from onward.tests.support.raw_batches import batch, send

TOPICS = Topics()
NOW_MS = time.time_ns() // 1_000_000
WORKER_BYTES = 1 << 30
GROWTH_BYTES = 300 << 20
PATIENCE_SECONDS = 90
FORGET_PEAK = "5"

BATCHES = {
    "zstd of 900 MB": (lambda: [bomb("zstd", 900 << 20, NOW_MS)], "oversized_batch"),
    "lz4 of 200 MB": (lambda: [bomb("lz4", 200 << 20, NOW_MS)], "oversized_batch"),
    "gzip of 200 MB": (lambda: [bomb("gzip", 200 << 20, NOW_MS)], "oversized_batch"),
    "snappy of 80 MB": (lambda: [bomb("snappy", 80 << 20, NOW_MS)], "oversized_batch"),
    "many below the limit": (lambda: [bomb("zstd", 60 << 20, NOW_MS)] * 12, "oversized"),
    "many headers": (lambda: [bomb("zstd", 0, NOW_MS, headers=20_000_000)], "oversized_batch"),
    "many records": (lambda: [many_records("zstd", 300_000, NOW_MS)], "oversized_batch"),
}


@pytest.fixture(scope="module")
def broker():
    with EmbeddedBroker(dict.fromkeys((*TOPICS.inputs, TOPICS.journal, *TOPICS.outputs), 1)) as broker:
        yield broker


@pytest.fixture(scope="module")
def worker(broker, tmp_path_factory):
    """A worker with a program of ``write_programs``."""
    folder = tmp_path_factory.mktemp("worker")
    [spec] = write_programs(folder, {"steps": POLICIES["steps"]})
    flags = ["--brokers", broker.bootstrap, "--spec", str(spec), "--state-dir", str(folder / "state"), "--no-web"]
    flags += ["--model-addresses", str(tmp_path_factory.getbasetemp())]
    command = [sys.executable, "-P", "-m", "onward", "worker", *flags]
    with LimitedWorker(command, folder / "log") as worker:
        worker.bundle = folder / "steps-v1"
        yield worker


@pytest.fixture(scope="module")
def expected():
    """The reasons of the dead letters so far."""
    return []


class LimitedWorker(WatchedProcess):
    """A worker whose memory is limited and measured."""

    def __enter__(self):
        super().__enter__()
        self.pid = self._process.pid
        return self

    def limit(self, size):
        """Limit the memory of its own: further allocations fail."""
        resource.prlimit(self.pid, resource.RLIMIT_DATA, (size, resource.RLIM_INFINITY))

    def measure(self):
        """Measure the growth from here on."""
        Path(f"/proc/{self.pid}/clear_refs").write_text(FORGET_PEAK)
        self.before = resident_bytes(self.pid)

    def growth(self):
        return resident_bytes(self.pid, peak=True) - self.before


async def answered(broker, worker, application, letters=0):
    """Send an application. Return the dead letters when it is answered, and there are at least so many."""
    person = {"region": "north", "income": 1.0, "debts": 0}
    value = msgspec.json.encode(Application("steps", application, person))
    await send(broker.options(), TOPICS.applications, batch([value], [[(b"ce_id", application.encode())]], NOW_MS))
    return await asyncio.to_thread(_read_until_answer, broker, worker, application, letters)


def _read_until_answer(broker, worker, application, least):
    letters, answers, deadline = [], set(), time.monotonic() + PATIENCE_SECONDS
    with EventReader(broker.options(), [TOPICS.recourse, TOPICS.dead_letters]) as reader:
        while application not in answers or len(letters) < least:
            for record in reader.poll(0.5):
                event = msgspec.json.decode(record.value)
                if record.topic == TOPICS.dead_letters:
                    letters.append(event)
                else:
                    answers.add(event["application"])
            assert not worker.has_ended, worker.last_line()
            assert time.monotonic() < deadline, worker.last_line()
    return letters


@pytest.mark.parametrize("name", BATCHES)
async def test_batches_that_unpack_to_more_than_memory_are_dead_letters_among_answers(broker, worker, expected, name):
    make, reason = BATCHES[name]
    worker.limit(WORKER_BYTES)
    bombs = make()
    await answered(broker, worker, f"before {name}")
    worker.measure()
    for one in bombs:
        await send(broker.options(), TOPICS.applications, one)
    expected.extend([reason] * len(bombs))
    letters = await answered(broker, worker, f"after {name}", len(expected))
    assert [letter["reason"] for letter in letters] == expected
    assert worker.growth() < GROWTH_BYTES


MODELS = {
    "ONNX of 234 bytes for 1.8 GB": ("m.onnx", lambda: onnx_bomb(450_000_000, 4), {"onnx": {"column": 1, "rows": 1}}),
    "npz of 3.5 MB for 768 MB": ("m.npz", lambda: trees_bomb(768 << 20), {}),
}


@pytest.mark.parametrize("name", MODELS)
async def test_models_that_take_more_than_memory_are_refused_among_answers(broker, worker, expected, tmp_path, name):
    file, content, changes = MODELS[name]
    # Where its own allocations failed, it would not show what it asks for.
    worker.limit(resource.RLIM_INFINITY)
    address, digest = bomb_bundle(worker.bundle, tmp_path / "bomb", file, content(), **changes)
    await answered(broker, worker, f"before {name}")
    worker.measure()
    event = msgspec.json.encode(Model("steps", "v1", address, digest))
    await send(broker.options(), TOPICS.models, batch([event], [[(b"ce_id", name.encode())]], NOW_MS))
    await answered(broker, worker, f"meanwhile {name}")
    expected.append("model_refused")
    letters = await answered(broker, worker, f"after {name}", len(expected))
    assert [letter["reason"] for letter in letters] == expected
    assert worker.growth() < GROWTH_BYTES

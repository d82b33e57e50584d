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
from onward.tests.support.bombs import SNAPPY_OF_4_GIB, SNAPPY_WITHOUT_END, batch_of, bomb, many_records
from onward.tests.support.model_bombs import bomb_bundle, onnx_bomb, trees_bomb, waits_for_one
from onward.tests.support.process import WatchedProcess, resident_bytes
from onward.tests.support.programs import POLICIES, write_programs
from onward.tests.support.raw_batches import batch, send

TOPICS = Topics()
NOW_MS = time.time_ns() // 1_000_000
WORKER_BYTES = 1 << 30
GROWTH_BYTES = 300 << 20
BATCH_GROWTH_BYTES = 448 << 20
"""A batch of the largest size, 64 MiB, takes four times as much while it is read, and on a busy machine the next is
here by then. Far below what the bombs would take."""
FORGET_PEAK = "5"

LARGEST = "zstd of 900 MB"
BATCHES = {
    LARGEST: (lambda: [bomb("zstd", 900 << 20, NOW_MS)], "oversized_batch"),
    "lz4 of 200 MB": (lambda: [bomb("lz4", 200 << 20, NOW_MS)], "oversized_batch"),
    "gzip of 200 MB": (lambda: [bomb("gzip", 200 << 20, NOW_MS)], "oversized_batch"),
    "snappy of 80 MB": (lambda: [bomb("snappy", 80 << 20, NOW_MS)], "oversized_batch"),
    "many below the limit": (lambda: [bomb("zstd", 60 << 20, NOW_MS)] * 12, "oversized"),
    "many headers": (lambda: [bomb("zstd", 0, NOW_MS, headers=20_000_000)], "oversized_batch"),
    "many records": (lambda: [many_records("zstd", 300_000, NOW_MS)], "oversized_batch"),
    "claimed 4 GiB": (lambda: [batch_of("snappy", SNAPPY_OF_4_GIB, 1, NOW_MS)], "oversized_batch"),
    "a block without end": (lambda: [batch_of("snappy", SNAPPY_WITHOUT_END, 1, NOW_MS)], "unreadable_batch"),
}
TREES = "npz of 3.5 MB for 768 MB"
MODELS = {
    "ONNX of 234 bytes for 1.8 GB": ("m.onnx", lambda: onnx_bomb(450_000_000, 4), {"onnx": {"column": 1, "rows": 1}}),
    "ONNX of 600 bytes for 4 GB of one row": (
        "m.onnx",
        lambda: waits_for_one("Expand"),
        {"onnx": {"column": 1, "rows": 32}},
    ),
    TREES: ("m.npz", lambda: trees_bomb(768 << 20), {}),
}


class LimitedWorker(WatchedProcess):
    """A worker whose memory is limited from its start, and measured."""

    def __enter__(self):
        super().__enter__()
        self.pid = self._process.pid
        self.limit(WORKER_BYTES)
        return self

    def limit(self, size):
        """Limit the memory of its own: further allocations fail."""
        resource.prlimit(self.pid, resource.RLIMIT_DATA, (size, resource.RLIM_INFINITY))

    def measure(self):
        """Measure the growth from here on."""
        Path(f"/proc/{self.pid}/clear_refs").write_text(FORGET_PEAK)
        self.before = resident_bytes(self.pid)

    def growth(self):
        """The most that it has grown by."""
        return resident_bytes(self.pid, peak=True) - self.before


class Conversation:
    """Good records and bombs, sent to a worker, and the dead letters that are due."""

    def __init__(self, broker, worker, folder):
        self._options, self._worker, self._folder = broker.options(), worker, folder
        self._expected, self._count = [], 0

    async def bombs(self, name):
        """Send bombs of one kind to applications."""
        make, reason = BATCHES[name]
        for one in make():
            await send(self._options, TOPICS.applications, one)
            self._expected.append(reason)

    async def model(self, name):
        """Announce a model."""
        self._count += 1
        file, content, changes = MODELS[name]
        good, folder = self._folder / "steps-v1", self._folder / f"bomb-{self._count}"
        address, digest = bomb_bundle(good, folder, file, content(), **changes)
        event = msgspec.json.encode(Model("steps", "v1", address, digest))
        headers = [[(b"ce_id", folder.name.encode())]]
        await send(self._options, TOPICS.models, batch([event], headers, NOW_MS))
        self._expected.append("model_refused")

    async def answered(self, application):
        """Send a good record; return when it is answered, and so many dead letters are there as are due."""
        person = {"region": "north", "income": 1.0, "debts": 0}
        value = msgspec.json.encode(Application("steps", application, person))
        headers = [[(b"ce_id", application.encode())]]
        await send(self._options, TOPICS.applications, batch([value], headers, NOW_MS))
        letters = await asyncio.to_thread(self._read, application)
        assert sorted(letters) == sorted(self._expected), application

    def _read(self, application):
        letters, answers = [], set()
        with EventReader(self._options, [TOPICS.recourse, TOPICS.dead_letters]) as reader:
            while application not in answers or len(letters) < len(self._expected):
                for record in reader.poll(0.5):
                    event = msgspec.json.decode(record.value)
                    if record.topic == TOPICS.dead_letters:
                        letters.append(event["reason"])
                    else:
                        answers.add(event["application"])
                assert not self._worker.has_ended, f"{application}: {self._worker.last_line()}"
        return letters


@pytest.fixture
def broker():
    with EmbeddedBroker(dict.fromkeys((*TOPICS.inputs, TOPICS.journal, *TOPICS.outputs), 1)) as broker:
        yield broker


@pytest.mark.attack
async def test_a_worker_with_1_gb_answers_everybody_among_bombs(broker, tmp_path):
    [spec] = write_programs(tmp_path, {"steps": POLICIES["steps"]})
    flags = ["--brokers", broker.bootstrap, "--spec", str(spec), "--state-dir", str(tmp_path / "state"), "--no-web"]
    command = [sys.executable, "-P", "-m", "onward", "worker", *flags]
    worker = LimitedWorker(command, tmp_path / "log")
    sent = Conversation(broker, worker, tmp_path)
    # One lies there already when the worker starts, as it would at every restart.
    await sent.bombs(LARGEST)
    with worker:
        await sent.answered("at the start")
        worker.measure()
        for name in BATCHES:
            await sent.bombs(name)
            await sent.answered(f"after {name}")
            assert worker.growth() < BATCH_GROWTH_BYTES, name
        worker.measure()
        for name in MODELS:
            await sent.model(name)
            await sent.answered(f"after {name}")
            assert worker.growth() < GROWTH_BYTES, name
        # Where its own allocations do not fail, it would show what it asks for.
        worker.limit(resource.RLIM_INFINITY)
        await sent.model(TREES)
        await sent.answered("at last")
        assert worker.growth() < GROWTH_BYTES

"""A worker killed with SIGKILL, again and again, loses nothing, repeats nothing that differs, and ends in the ledger
of an uninterrupted run over the same journal."""

from __future__ import annotations

import asyncio
import os
import signal
import sqlite3
import subprocess
import sys
import time
from collections import Counter
from contextlib import closing
from pathlib import Path

import msgspec
import numpy as np
import pytest
from pipeline import FEATURES, MemoryBroker, dump, without_generation
from sklearn.linear_model import LogisticRegression

from onward.schemas.encoding import FeatureCodec
from onward.schemas.events import Application, Outcome
from onward.schemas.headers import TYPES, cloud_event_headers
from onward.schemas.spec import ProgramSpec
from onward.schemas.specfile import load_spec
from onward.streams.kafka.client import EventReader, EventWriter
from onward.streams.keeper import Keeper, Keeping
from onward.streams.metrics import Metrics
from onward.streams.models import write_bundle
from onward.streams.program import assemble_all
from onward.streams.records import TopicPartition
from onward.streams.topics import Topics, plan

PEOPLE = 240
PARTITIONS = 2
PROGRAMS = {"steps": {"steps": 5}, "timed": {"time": "PT1H"}}
WORKER = Path(__file__).parents[1] / "support" / "faulty_worker.py"
POINTS = {
    "outputs in flight": ("outputs in flight", 2.0),
    "outputs acknowledged": ("outputs acknowledged", 0.0),
    "ledger committed": ("ledger committed", 0.0),
    "before the group commit": ("before the group commit", 0.0),
}

COMMITTING = ("ledger committed", "before the group commit")
"""The points at which the group, too, is committed to as often as can be, and the next life goes on in it."""


def features(random):
    return {
        "region": str(random.choice(["north", "south"])),
        "income": float(random.integers(0, 60)),
        "debts": int(random.integers(0, 11)),
    }


def write_program(folder, name, window):
    spec = msgspec.convert(
        {
            "program": name,
            "features": FEATURES,
            "label": {"name": "repaid"},
            "model": {"manifest": f"{name}-model/manifest.json"},
            "policy": {"choice": "linucb", "window": window},
            "shards": 3,
        },
        ProgramSpec,
        strict=False,
    )
    codec = FeatureCodec(spec)
    random = np.random.default_rng(7)
    rows = [{**features(random), "income": float(random.integers(0, 101))} for _ in range(300)]
    X = codec.encode_many(rows)
    model = LogisticRegression(C=100.0).fit(X, X[:, 2] - 0.3 * X[:, 3] > 0.5)
    instances = [row for row, good in zip(rows, model.predict(X), strict=True) if good][:40]
    write_bundle(
        folder / f"{name}-model",
        spec,
        codec.columns,
        version="v1",
        estimator=model,
        instances=instances,
        reference=rows,
        metrics={},
    )
    path = folder / f"{name}.yaml"
    path.write_bytes(msgspec.json.encode(spec))
    return path


def send_inputs(options, topics, programs):
    """People of both programs, an outcome for most of them, and some that are bad or refer to nobody.

    Return how many the programs' models reject.
    """
    rejected = 0
    random, now_ms = np.random.default_rng(11), time.time_ns() // 1_000_000
    with EventWriter(options) as writer:
        for number in range(PEOPLE):
            for name in PROGRAMS:
                person = f"p{number}" if number % 10 else f"nobody{number}"
                person_features = features(random)
                x = programs[name].codec.encode_many([person_features])
                rejected += int(not programs[name].approves(programs[name].bundle.model.score(x))[0])
                events = [
                    (topics.applications, Application(name, f"p{number}", person_features), f"{name}/a/{number}"),
                    (topics.outcomes, Outcome(name, person, "improved"), f"{name}/o/{number}"),
                ]
                for topic, event, identity in events:
                    headers = cloud_event_headers(identity, "test", TYPES[type(event)], now_ms + number)
                    writer.send(topic, msgspec.json.encode(event), key=person.encode(), headers=headers)
            if number % 20 == 0:
                writer.send(topics.applications, b"{", key=b"bad", headers=[("ce_id", f"bad/{number}".encode())])
    return rejected


def read_all(options, topics):
    with EventReader(options, topics) as reader:
        records = []
        while not reader.caught_up:
            records.extend(reader.poll(0.2))
    return records


def environment(options, specs, state, prefix):
    return {
        **os.environ,
        "ONWARD_BROKERS": ",".join(options.brokers),
        "ONWARD_SPEC": ",".join(map(str, specs)),
        "ONWARD_STATE_DIR": str(state),
        "ONWARD_TOPIC_PREFIX": prefix,
        "ONWARD_GROUP": f"{prefix}group",
        "ONWARD_COMMIT_INTERVAL_SECONDS": "60",
        "ONWARD_TICK_SECONDS": "0.3",
        "ONWARD_WEB": "false",
    }


def run_until_killed(point, life, env, log):
    stage, delay_ms = POINTS[point]
    command = [sys.executable, str(WORKER), stage, str(2 + life), str(delay_ms)]
    with log.open("ab") as output:
        # Mostly another group each life: a group would first wait until the killed member's session ends, and nothing
        # has been committed to it anyway.
        group = env["ONWARD_GROUP"] if point in COMMITTING else f"{env['ONWARD_GROUP']}-{life}"
        own = {"ONWARD_CHUNK_RECORDS": str(20 + 13 * life), "ONWARD_GROUP": group}
        process = subprocess.Popen(command, env={**env, **own}, stderr=output)
        try:
            return process.wait(timeout=60)
        finally:
            process.kill()


def run_to_the_end(options, topics, env, log, expected):
    with log.open("ab") as output, EventReader(options, topics.outputs) as reader:
        process = subprocess.Popen([sys.executable, str(WORKER), "never", "0", "0"], env=env, stderr=output)
        try:
            deadline, left = time.monotonic() + 60, expected
            while left > 0 and time.monotonic() < deadline:
                left -= sum(record.topic == topics.recourse for record in reader.poll(0.2))
            while reader.poll(1.0):
                pass
            process.send_signal(signal.SIGTERM)
            return process.wait(timeout=30)
        finally:
            process.kill()


def ledger_of(directory, topics, number):
    return directory / f"{topics.journal}-{number}.sqlite"


def folded_until(ledger):
    with closing(sqlite3.connect(ledger)) as db:
        return db.execute("SELECT value FROM meta WHERE name = 'offset'").fetchone()[0]


def uninterrupted(programs, topics, journal, state, directory):
    """The ledgers and outputs of one run over the same journal, in memory and in one chunk a partition.

    A last tick may have reached the journal while the worker stopped: the run ends where the worker's ledgers do.
    """
    broker = MemoryBroker(PARTITIONS)
    ends = [folded_until(ledger_of(state, topics, number)) for number in range(PARTITIONS)]
    for record in journal:
        if record.offset < ends[record.partition]:
            broker.logs[topics.journal, record.partition].append(record)

    async def fold():
        keeper = Keeper(topics, programs, broker, Metrics(), lambda: 0, Keeping(directory))
        partitions = [TopicPartition(topics.journal, number) for number in range(PARTITIONS)]
        await keeper.assigned(partitions)
        for partition in partitions:
            await keeper.handle(broker.logs[partition])
        await keeper.revoked(partitions)

    asyncio.run(fold())
    return {
        (topic, number): [
            (r.key, r.value, r.timestamp_ms, without_generation(r.headers)) for r in broker.logs[topic, number]
        ]
        for topic in topics.outputs
        for number in range(PARTITIONS)
    }


@pytest.mark.parametrize("point", POINTS)
def test_a_killed_worker_loses_and_repeats_nothing(point, broker, tmp_path):
    topics = Topics(prefix=f"{broker.group}-")
    broker.create(plan(topics, PARTITIONS, 1))
    options = broker.options()
    specs = [write_program(tmp_path, name, window) for name, window in PROGRAMS.items()]
    state, log = tmp_path / "state", tmp_path / "worker.log"
    env = environment(options, specs, state, topics.prefix)
    if point in COMMITTING:
        env |= {"ONWARD_COMMIT_INTERVAL_SECONDS": "0.01", "ONWARD_SESSION_TIMEOUT_SECONDS": "6"}
    programs = assemble_all([load_spec(path) for path in specs])
    expected = send_inputs(options, topics, programs)

    for life in range(2):
        assert run_until_killed(point, life, env, log) == -signal.SIGKILL, log.read_text()
    already = sum(1 for _ in read_all(options, [topics.recourse]))
    assert already < expected, "the worker was killed too late to show anything"
    assert run_to_the_end(options, topics, env, log, expected) == 0, log.read_text()

    outputs = read_all(options, topics.outputs)
    identities = Counter(dict(record.headers)["ce_id"] for record in outputs)
    assert [identity for identity, times in identities.items() if times > 1] == []
    answers = sum(record.topic == topics.recourse for record in outputs)
    journal = read_all(options, [topics.journal])
    reference = uninterrupted(programs, topics, journal, state, tmp_path / "reference")
    found = {place: [] for place in reference}
    for record in outputs:
        found[record.topic, record.partition].append(
            (record.key, record.value, record.timestamp_ms, without_generation(record.headers))
        )
    assert found == reference
    for number in range(PARTITIONS):
        assert dump(ledger_of(state, topics, number)) == dump(ledger_of(tmp_path / "reference", topics, number))
    assert answers == expected

"""A worker killed with SIGKILL, again and again, loses nothing, repeats nothing that differs, and ends in the ledger
of an uninterrupted run over the same journal."""

from __future__ import annotations

import os
import signal
import subprocess
import time

import msgspec
import numpy as np
import pytest

from onward.faults.checker import Findings, compare_outputs, compare_states
from onward.faults.fleet import COMMAND
from onward.faults.programs import person, write_programs
from onward.faults.reference import dump, standing, uninterrupted
from onward.schemas.events import Application, Outcome
from onward.schemas.headers import TYPES, cloud_event_headers
from onward.schemas.specfile import load_spec
from onward.streams.kafka.client import EventReader, EventWriter
from onward.streams.programs.program import assemble_all
from onward.streams.topics import Topics, plan

PEOPLE = 240
PARTITIONS = 2
WINDOWS = {"steps": {"steps": 5}, "timed": {"time": "PT1H"}}
POLICIES = {name: {"policy": {"choice": "linucb", "window": window}} for name, window in WINDOWS.items()}
DELAYS_MS = {
    "computed": 0.0,
    "outputs in flight": 2.0,
    "outputs acknowledged": 0.0,
    "ledger committed": 0.0,
    "before the group commit": 0.0,
}

COMMITTING = ("ledger committed", "before the group commit")
"""The points at which the group, too, is committed to as often as can be, and the next life goes on in it."""


def send_inputs(options, topics, programs):
    """People of both programs, an outcome for most of them, and some that are bad or refer to nobody.

    Return how many the programs' models reject.
    """
    rejected = 0
    random, now_ms = np.random.default_rng(11), time.time_ns() // 1_000_000
    with EventWriter(options) as writer:
        for number in range(PEOPLE):
            for name in POLICIES:
                about = f"p{number}" if number % 10 else f"nobody{number}"
                features = person(random)
                x = programs[name].codec.encode_many([features])
                rejected += int(not programs[name].approves(programs[name].bundle.model.score(x))[0])
                events = [
                    (topics.applications, Application(name, f"p{number}", features), f"{name}/a/{number}"),
                    (topics.outcomes, Outcome(name, about, "improved"), f"{name}/o/{number}"),
                ]
                for topic, event, identity in events:
                    headers = cloud_event_headers(identity, "test", TYPES[type(event)], now_ms + number)
                    writer.send(topic, msgspec.json.encode(event), key=about.encode(), headers=headers)
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
    flags = ["--point", point, "--nth", str(2 + life), "--delay-ms", str(DELAYS_MS[point])]
    with log.open("ab") as output:
        # Mostly another group each life: a group would first wait until the killed member's session ends, and nothing
        # has been committed to it anyway.
        group = env["ONWARD_GROUP"] if point in COMMITTING else f"{env['ONWARD_GROUP']}-{life}"
        own = {"ONWARD_CHUNK_RECORDS": str(5 + 4 * life), "ONWARD_GROUP": group}
        process = subprocess.Popen([*COMMAND, *flags], env={**env, **own}, stderr=output)
        try:
            return process.wait(timeout=60)
        finally:
            process.kill()


def run_to_the_end(options, topics, env, log, expected):
    with log.open("ab") as output, EventReader(options, topics.outputs) as reader:
        process = subprocess.Popen(COMMAND, env=env, stderr=output)
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


@pytest.mark.parametrize("point", DELAYS_MS)
def test_a_killed_worker_loses_and_repeats_nothing(point, broker, tmp_path):
    topics = Topics(prefix=f"{broker.group}-")
    broker.create(plan(topics, PARTITIONS, 1))
    options = broker.options()
    specs = write_programs(tmp_path, POLICIES)
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

    outputs, journal = read_all(options, topics.outputs), read_all(options, [topics.journal])
    states = {standing(path): dump(path) for path in sorted(state.glob("*.sqlite"))}
    # A last tick may have reached the journal while the worker stopped: the reference ends where its ledgers do.
    reference = uninterrupted(programs, topics, journal, states, tmp_path / "reference")
    findings = Findings()
    compare_outputs(outputs, reference.outputs, findings)
    compare_states(
        {str(at): content for at, content in states.items()},
        {str(at): content for at, content in reference.dumps.items()},
        findings,
    )
    assert findings.good, findings
    assert (findings.duplicates, len(states)) == (0, PARTITIONS)
    assert sum(record.topic == topics.recourse for record in outputs) == expected

"""A worker that stands still for longer than its session, and is woken when another one has its partitions."""

from __future__ import annotations

import time
from itertools import islice

import numpy as np
import pytest

from onward.faults.checker import Findings, compare_outputs, compare_states
from onward.faults.demands import demands_of, met
from onward.faults.fleet import COMMAND, FENCED, Life, told
from onward.faults.people import everybody
from onward.faults.programs import write_programs
from onward.faults.reference import dump, standing, uninterrupted
from onward.schemas.specfile import load_spec
from onward.streams.effects import GENERATION
from onward.streams.kafka.client import EventReader, EventWriter
from onward.streams.keeper import Stage
from onward.streams.program import assemble_all
from onward.streams.topics import Topics, plan

pytestmark = [pytest.mark.kafka, pytest.mark.timeout(180)]

TURNS = 60
PARTITIONS = 2
ZOMBIES = 1
"""The generation of the first owner's outputs."""


class Place:
    """Topics, what is sent to them, and workers."""

    def __init__(self, broker, folder):
        self.folder, self.options, self.topics = folder, broker.options(), Topics(prefix=f"{broker.group}-")
        broker.create(plan(self.topics, PARTITIONS, 1))
        specs = write_programs(folder)
        self.programs = assemble_all([load_spec(path) for path in specs])
        self.environment = {
            "ONWARD_BROKERS": ",".join(self.options.brokers),
            "ONWARD_SPEC": ",".join(map(str, specs)),
            "ONWARD_TOPIC_PREFIX": self.topics.prefix,
            "ONWARD_GROUP": broker.group,
            "ONWARD_SESSION_TIMEOUT_SECONDS": "6",
            "ONWARD_CHUNK_RECORDS": "40",
            "ONWARD_TICK_SECONDS": "0",
            "ONWARD_WEB": "false",
        }
        now_ms = time.time_ns() // 1_000_000
        with EventWriter(self.options) as writer:
            for planned in (
                p for turn in islice(everybody(self.topics, np.random.default_rng(5)), TURNS) for p in turn
            ):
                sent = planned.record(now_ms)
                writer.send(sent.topic, sent.value, key=sent.key, headers=sent.headers)

    def worker(self, name, *flags):
        environment = {**self.environment, "ONWARD_STATE_DIR": str(self.folder / name)}
        return Life([*COMMAND, *flags], self.folder / f"{name}.log", environment)

    def read(self, topics):
        with EventReader(self.options, topics) as reader:
            records = reader.poll(0.2)
            while not reader.caught_up:
                records += reader.poll(0.2)
        return records

    def written(self, generation=None):
        found = [int(dict(record.headers)[GENERATION]) for record in self.read(self.topics.outputs)]
        return len(found) if generation is None else found.count(generation)

    def answered(self):
        demands = demands_of(self.programs, self.topics, self.read(self.topics.inputs))
        found = met(demands, self.topics, self.read(self.topics.outputs))
        return demands.answers and not found.missing & demands.answers.keys()

    def opened(self, name):
        return sum(line["message"] == "opened ledger" for line in told(self.folder / f"{name}.log"))

    def check(self):
        findings = Findings()
        ledgers = sorted(self.folder.glob("*/*.sqlite"))
        states = {str(path): (standing(path), dump(path)) for path in ledgers}
        stops = {at for at, _ in states.values()}
        journal = self.read([self.topics.journal])
        reference = uninterrupted(self.programs, self.topics, journal, stops, self.folder / "reference")
        compare_outputs(self.read(self.topics.outputs), reference.outputs, findings)
        expected = {path: reference.dumps[at] for path, (at, _) in states.items()}
        compare_states({path: state for path, (_, state) in states.items()}, expected, findings)
        assert findings.good, str(findings)
        return findings


def until(condition, seconds=60.0):
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "this does not come"
        time.sleep(0.2)


@pytest.mark.parametrize("point", [Stage.COMPUTED, Stage.OUTPUTS_IN_FLIGHT])
def test_one_that_wakes_in_the_middle_of_its_work_writes_nothing_more_and_ends(point, real, tmp_path):
    place = Place(real, tmp_path)
    with place.worker("zombie", "--point", point, "--nth", "5", "--signal", "SIGSTOP") as zombie:
        until(lambda: zombie.stands)
        with place.worker("successor") as successor:
            until(lambda: place.opened("successor") >= PARTITIONS)
            until(place.answered)
            written, opened = place.written(ZOMBIES), place.opened("successor")
            zombie.let_go()
            until(lambda: zombie.ended)
            assert zombie.code == FENCED, zombie.last_words()
            assert "may have another owner by now" in zombie.last_words()
            late = place.written(ZOMBIES) - written
            assert place.opened("successor") == opened, "the zombie has joined again and called the group together"
            assert successor.finish(20) == 0, successor.last_words()
    # What was with its producer already when it was stopped may still come, and is known for what it is.
    assert late == 0 or point is Stage.OUTPUTS_IN_FLIGHT
    assert place.check().duplicates == late


def test_one_that_wakes_with_nothing_under_way_joins_again(real, tmp_path):
    place = Place(real, tmp_path)
    with place.worker("zombie") as zombie:
        until(place.answered)
        zombie.hold()
        before = place.opened("zombie")
        with place.worker("successor") as successor:
            until(lambda: place.opened("successor") >= PARTITIONS)
            written = place.written()
            zombie.let_go()
            until(lambda: place.opened("zombie") > before)
            assert successor.finish(20) == 0, successor.last_words()
        until(lambda: place.opened("zombie") > before + PARTITIONS)
        assert zombie.finish(20) == 0, zombie.last_words()
    assert place.written() == written
    place.check()

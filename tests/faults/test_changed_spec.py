"""A spec with a new comment, then a tightened bound, then a renamed feature: it works, it works with the same learner,
it is refused. A worker that is killed in between ends as one that was not."""

from __future__ import annotations

import json
import signal
import time
from collections import defaultdict

import msgspec
import numpy as np
import pytest

from onward.schemas.events import Application, Outcome, RawSpec
from onward.schemas.headers import cloud_event_headers
from onward.schemas.kinds import ce_type
from onward.streams.cli import main
from onward.streams.journal.lines import read_entries
from onward.streams.kafka.client import EventReader, EventWriter
from onward.streams.programs.assembly import assemble_all
from onward.streams.programs.spec_check import load_program_spec
from onward.streams.topics import Topics, plan
from onward.testing.ledger import dump
from onward.tests.faults.suite.check.checker import Findings, compare_outputs, compare_states
from onward.tests.faults.suite.check.reference_run import reference_run
from onward.tests.faults.suite.environment import read_to_end
from onward.tests.faults.suite.workers import worker
from onward.tests.support.forked_process import ForkedProcess
from onward.tests.support.ledgers import LedgerPosition, ledger_position
from onward.tests.support.programs import features, write_programs

PEOPLE = 40
POLICY = {"policy": {"choice": "posterior", "generator": "search", "window": {"time": "PT1H"}}}
WIDE, TIGHT, UNHEARD = "[0.0,100.0]", "[0.0,80.0]", "[0.0,70.0]"


class Installation:
    """Topics, a program's spec file, and a state folder in which one worker after the other goes on."""

    def __init__(self, broker, folder):
        self.folder, self.options = folder, broker.options()
        self.topics = Topics(prefix=f"{broker.group}-")
        broker.create(plan(self.topics, 1, 1))
        [self.spec] = write_programs(folder, {"loan": POLICY})
        self.first = self.spec.read_text()
        self.random = np.random.default_rng(5)
        self.workers = 0
        self.connection = ["--brokers", ",".join(self.options.brokers), "--topic-prefix", self.topics.prefix]
        self.environment = {
            "ONWARD_BROKERS": ",".join(self.options.brokers),
            "ONWARD_SPEC": str(self.spec),
            "ONWARD_STATE_DIR": str(folder / "state"),
            "ONWARD_TOPIC_PREFIX": self.topics.prefix,
            "ONWARD_FETCH_WAIT_SECONDS": "0.1" if broker.is_real else "0.002",
            "ONWARD_CHUNK_RECORDS": "10",
            "ONWARD_COMMIT_INTERVAL_SECONDS": "60",
            "ONWARD_TICK_SECONDS": "0.3",
            "ONWARD_WEB": "false",
        }

    def send(self, name):
        """Applications of people whom the model rejects, whatever the bounds, and their outcomes."""
        now_ms = time.time_ns() // 1_000_000
        with EventWriter(self.options) as writer:
            for number in range(PEOPLE):
                person = f"{name}{number}"
                application = Application("loan", person, {**features(self.random, max_income=30), "debts": 9})
                events = {
                    self.topics.applications: application,
                    self.topics.outcomes: Outcome("loan", person, "improved"),
                }
                for topic, event in events.items():
                    headers = cloud_event_headers(f"{topic}/{person}", "test", ce_type(event), now_ms + number)
                    writer.send(topic, msgspec.json.encode(event), key=person.encode(), headers=headers)

    def announce(self, text):
        """Write another spec beside that of the workers, and announce it; return the exit code."""
        file = self.folder / "changed.yaml"
        file.write_text(text)
        return main(["specs", "announce", str(file), *self.connection])

    def worker(self, *flags):
        # A group of its own for each worker: the group of a killed one waits until its session ends.
        self.workers += 1
        group = {"ONWARD_GROUP": f"{self.topics.prefix}{self.workers}"}
        return ForkedProcess(worker.main, flags, self.folder / "worker.log", self.environment | group)

    def run_to_answers(self, total):
        """Run a worker until there are so many answers."""
        with EventReader(self.options, [self.topics.recourse]) as reader, self.worker() as process:
            answers = 0
            while answers < total and process.exit_code is None:
                answers += len(reader.poll(0.2))
            assert process.terminate() == 0, process.last_line()

    def read(self, *topics):
        with EventReader(self.options, topics) as reader:
            return read_to_end(reader)

    def answers(self):
        """The answers of each group of people."""
        found = defaultdict(list)
        for record in self.read(self.topics.recourse):
            event = json.loads(record.value)
            found[event["application"].rstrip("0123456789")].append(event)
        return found

    def learned_around_the_change(self):
        """What the shards have learned, in the ledger before and after the record that changes the spec."""
        journal = self.read(self.topics.journal)
        # A worker that was killed may have appended it twice.
        offset, *_ = [record.offset for record in journal for entry in read_entries(record) if is_change(entry)]
        programs = assemble_all([load_program_spec(self.spec)])
        places = [LedgerPosition(0, offset), LedgerPosition(0, offset + 1)]
        dumps = reference_run(programs, self.topics, journal, places, self.folder / "around").dumps
        assert dumps[places[0]] != dumps[places[1]]
        return [[line for line in dumps[place] if line.startswith('INSERT INTO "shards"')] for place in places]

    def findings(self):
        """The outputs and the ledger beside those of a run over the same journal without faults."""
        [path] = (self.folder / "state").glob("*.sqlite")
        states = {ledger_position(path): dump(path)}
        programs = assemble_all([load_program_spec(self.spec)])
        journal, inputs = self.read(self.topics.journal), self.read(*self.topics.inputs)
        reference = reference_run(programs, self.topics, journal, states, self.folder / "again", inputs)
        findings = Findings()
        compare_outputs(self.read(*self.topics.outputs), reference.outputs, findings)
        named = [{str(position): state for position, state in found.items()} for found in (states, reference.dumps)]
        compare_states(*named, findings)
        return findings


def is_change(entry):
    """Whether a journal entry is a spec that was announced."""
    return isinstance(entry.body, RawSpec) and entry.source is not None


@pytest.fixture
def installation(broker, tmp_path):
    return Installation(broker, tmp_path)


def test_a_spec_changes_while_workers_come_and_go(installation, capsys):
    there = installation
    assert there.announce(there.first) == 1
    assert "knows no program 'loan'" in capsys.readouterr().err
    there.send("first")
    there.run_to_answers(PEOPLE)

    there.spec.write_text(f"# reviewed\n{there.first}")
    there.send("commented")
    there.run_to_answers(2 * PEOPLE)
    assert there.announce(there.spec.read_text()) == 0
    assert "nothing is announced: the spec in force means the same" in capsys.readouterr().out

    there.send("before")
    assert there.announce(there.first.replace(WIDE, TIGHT)) == 0
    assert f"features.income.bounds: {WIDE.replace('.0', '')} -> {TIGHT.replace('.0', '')}" in capsys.readouterr().out
    there.send("after")
    with there.worker("--point", "outputs acknowledged", "--nth", "5") as killed:
        assert killed.wait() == -signal.SIGKILL, killed.last_line()
    assert len(there.read(there.topics.recourse)) < 4 * PEOPLE, "the worker was killed too late to show anything"

    there.spec.write_text(there.first.replace(WIDE, UNHEARD))
    with there.worker() as refused:
        assert refused.wait() == 4, refused.last_line()
    assert "has not been announced: announce it with `onward specs announce FILE`" in refused.last_line()

    there.spec.write_text(there.first.replace(WIDE, TIGHT))
    there.send("last")
    there.run_to_answers(5 * PEOPLE)

    renamed = there.first.replace('"income"', '"earnings"')
    assert there.announce(renamed) == 2
    assert "features cannot change: cases, open options and what is learned are encoded" in capsys.readouterr().err
    assert there.announce(there.first.replace(WIDE, "[0.0,300.0]")) == 2
    assert "features.income.bounds cannot change: the program's first model was trained with 0 to 100" in (
        capsys.readouterr().err
    )

    answers = there.answers()
    tight, tight_spec = load_program_spec(there.spec).sha256, there.spec.read_text()
    there.spec.write_text(there.first)
    first = load_program_spec(there.spec).sha256
    assert {answer["spec"] for answer in answers["first"] + answers["commented"]} == {first}
    assert {answer["spec"] for answer in answers["last"]} == {tight}
    steps = defaultdict(list)
    for group in answers.values():
        for answer in group:
            steps[answer["shard"]].append(answer["step"])
    assert all(sorted(own) == list(range(len(own))) for own in steps.values()), "each shard has one learner"
    before, after = there.learned_around_the_change()
    assert before == after != [], "what was learned is kept"
    findings = there.findings()
    assert findings.is_clean, findings
    for spec in (tight_spec, there.first):
        there.spec.write_text(spec)
        assert main(["evaluate", *there.connection, "--spec", str(there.spec), "--choice", "linucb", "--json"]) == 0
        evaluation = json.loads(capsys.readouterr().out)
        assert evaluation["steps"] + sum(evaluation["left_out"].values()) == 5 * PEOPLE
    assert main(["status", *there.connection, "--state-dir", str(there.folder / "state"), "--json"]) == 0
    [ledger] = json.loads(capsys.readouterr().out)["ledgers"]
    assert [program["spec"] for program in ledger["programs"]] == [tight]

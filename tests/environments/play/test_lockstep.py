"""The lock-step simulation: its events in order, and a whole world through ingest and processor in memory."""

from __future__ import annotations

import math
from collections import defaultdict
from dataclasses import dataclass, field
from typing import NamedTuple

import msgspec
import numpy as np
import pytest

from onward.agents.choices import LinUCB, Pull
from onward.agents.options import Options
from onward.benchmarks.improvement import ARLIM_SPEC
from onward.environments.improvement import ImprovementWorld
from onward.environments.play.lockstep import LockstepRun, SimulatedProgram, first_candidate
from onward.environments.play.program_folders import offer_options, write_programs
from onward.environments.play.simulation import Simulation
from onward.environments.population import Population
from onward.environments.truth import Repayment, TruthWorld
from onward.schemas.encoding import FeatureCodec
from onward.schemas.events import Application, DeadLetter, NoRecourse, Option, Outcome, Recourse, Reward
from onward.schemas.specfile import load_spec
from onward.streams.ingest.ingest import Ingest
from onward.streams.metrics import Metrics
from onward.streams.outputs.decoder import EventDecoder
from onward.streams.programs.assembly import assemble_all
from onward.streams.records import Record, TopicPartition
from onward.streams.topics import Topics
from onward.streams.worker.partition_processor import PartitionProcessor, ProcessorConfig
from onward.testing.memory_broker import MemoryBroker
from onward.testing.pipeline import START_MS, no_clock


class DelayedOutcome(NamedTuple):
    application: str
    result: str
    due: int
    option: int | None = None


@dataclass
class TinyWorld:
    """Applications "0", "1", ...; ``outcomes`` maps t to the application after which its outcome is known."""

    rejected: tuple[bool, ...]
    outcomes: dict[int, int] = field(default_factory=dict)

    @property
    def people(self):
        return len(self.rejected)

    def application(self, t):
        return str(t), {"income": 1.5}

    def is_rejected(self, t):
        return self.rejected[t]

    def outcome(self, t, k):
        return DelayedOutcome(str(t), "improved", self.outcomes[t]) if t in self.outcomes else None


@dataclass
class Recorder:
    suggestions: list[tuple[int, int | None]] = field(default_factory=list)

    def record(self, t, k):
        self.suggestions.append((t, k))


def simulation(world, prefix=""):
    recorder = Recorder()
    return Simulation([LockstepRun(SimulatedProgram("loan", world, recorder), prefix)]), recorder


def recourse(application, candidate=7, program="loan"):
    option = Option(str(candidate), (), 0.1, 0.9, 1.0)
    return Recourse(program, 0, application, 0, (option,), "linucb", "v", "s", "m")


def none(application):
    return NoRecourse("loan", 0, application, 0, "not_reachable", "", "linucb", "v", "s", "m")


def fate(outcome, kind="rewarded"):
    return Reward("loan", 0, "x", kind, 1.0, outcome=outcome)


def ids(events):
    return [event.id for event in events]


def test_the_next_application_waits_for_the_answer_of_a_rejected_person_only():
    run, _ = simulation(TinyWorld((False, False, True, False)))
    assert ids(run.next_events(0)) == [f"loan/application/{t}" for t in range(3)]
    assert run.next_events(0) == []
    assert run.awaited == ("loan/application/2",)
    run.receive(none("2"))
    assert ids(run.next_events(0)) == ["loan/application/3"]
    assert run.done


def test_an_outcome_is_published_when_it_is_due_and_the_next_round_waits_for_its_fate():
    run, recorder = simulation(TinyWorld((True, True, True), {0: 1, 1: 1}))
    run.next_events(0)
    run.receive(recourse("0", candidate=3))
    assert ids(run.next_events(0)) == ["loan/application/1"]
    run.receive(recourse("1"))
    assert ids(run.next_events(0)) == ["loan/outcome/0"]
    run.receive(fate("loan/outcome/0", "late"))
    assert ids(run.next_events(0)) == ["loan/outcome/1"]
    assert run.next_events(0) == []
    run.receive(fate("loan/outcome/1"))
    assert ids(run.next_events(0)) == ["loan/application/2"]
    run.receive(none("2"))
    assert run.done
    assert recorder.suggestions == [(0, 3), (1, 7), (2, None)]


def test_outcomes_after_the_last_application_are_published_in_the_order_they_are_due():
    run, _ = simulation(TinyWorld((True, True), {0: 9, 1: 5}))
    for name in ("0", "1"):
        run.next_events(0)
        run.receive(recourse(name))
    published = []
    while not run.done:
        (event,) = run.next_events(0)
        published.append(event.id)
        run.receive(fate(event.id))
    assert published == ["loan/outcome/1", "loan/outcome/0"]


def test_an_outcome_names_the_option_that_it_is_about():
    world = TinyWorld((True,), {0: 0})
    world.outcome = lambda t, suggestion: DelayedOutcome(str(t), "improved", 0, option=suggestion.index("b"))
    recorder = Recorder()
    program = SimulatedProgram("loan", world, recorder, lambda t, options: [one.candidate for one in options])
    run = Simulation([LockstepRun(program)])
    run.next_events(0)
    options = tuple(Option(name, (), 0.1, 0.9, 1.0, id) for name, id in (("a", "1"), ("b", "2")))
    run.receive(Recourse("loan", 0, "0", 0, options, "linucb", "v", "s", "m"))
    (outcome,) = run.next_events(0)
    assert outcome.event == Outcome("loan", "0", "improved", "2")
    assert recorder.suggestions == [(0, ["a", "b"])]


def test_duplicates_and_foreign_events_are_ignored():
    run, recorder = simulation(TinyWorld((True, True)))
    run.next_events(0)
    for event in (recourse("0"), recourse("0", candidate=8), recourse("0", program="other"), fate("nobody's")):
        run.receive(event)
    run.next_events(0)
    run.receive(recourse("0"))
    run.receive(Reward("loan", 0, "0", "censored", 0.0))
    assert run.awaited == ("loan/application/1",)
    assert recorder.suggestions == [(0, 7)]


def test_a_dead_letter_of_the_pending_event_ends_the_wait():
    run, recorder = simulation(TinyWorld((True, True)))
    run.next_events(0)
    headers = (("ce_id", b"loan/application/0"),)
    run.receive(DeadLetter("wrong_type", "", "applications", 0, 0, 2, "0" * 64, b"{}", headers=headers))
    assert run.last_dead_letter.reason == "wrong_type"
    assert ids(run.next_events(0)) == ["loan/application/1"]
    assert recorder.suggestions == []


def test_a_limit_holds_applications_back_and_event_time_never_decreases():
    run, _ = simulation(TinyWorld((False, False, False)), prefix="run-")
    (first,) = run.next_events(1000, limit=1)
    assert first.event == Application("loan", "run-0", {"income": 1.5})
    assert first.key == b"run-0"
    assert run.next_events(1000, limit=1) == []
    assert [event.time_ms for event in run.next_events(400)] == [1000, 1000]


def test_only_rejected_applications_of_this_simulation_are_rejected():
    run, _ = simulation(TinyWorld((False, True, False)), prefix="run-")
    run.next_events(0)
    assert run.is_rejected("loan", "run-1")
    for program, application in (("loan", "run-0"), ("loan", "1"), ("loan", "run-x"), ("b", "run-1")):
        assert not run.is_rejected(program, application)


# --- a whole world ----------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def world():
    spec = load_spec(ARLIM_SPEC).spec
    table = Population(seed=3).table(spec, 800)
    return ImprovementWorld.from_table(table, spec, seed=3, people=160, instances=30, approved_share=0.2)


class Memory:
    """Ingest and processor around an in-memory broker, fed one event at a time."""

    def __init__(self, specs, directory):
        self.topics, self.broker = Topics(), MemoryBroker()
        programs = assemble_all([load_spec(path) for path in specs])
        self.ingest = Ingest(self.topics, programs, self.broker, Metrics(), no_clock)
        self.processor = PartitionProcessor(
            self.topics, programs, self.broker, Metrics(), no_clock, ProcessorConfig(directory)
        )
        self.sent = defaultdict(int)
        self.read = defaultdict(int)

    async def start(self):
        await self.ingest.assigned([TopicPartition(name, 0) for name in self.topics.inputs])
        await self.processor.assigned([TopicPartition(self.topics.journal, 0)])

    async def stop(self):
        await self.processor.revoked(self.processor.partitions)

    async def publish(self, event):
        topic = event.topic(self.topics)
        record = Record(topic, 0, self.sent[topic], event.time_ms, event.key, event.value, event.headers)
        self.sent[topic] += 1
        await self.ingest.handle([record])
        await self.processor.handle(self.unread(self.topics.journal))

    def unread(self, topic):
        log = self.broker.logs[topic, 0]
        start, self.read[topic] = self.read[topic], len(log)
        return log[start:]


async def simulated(world, policies, folder):
    """What each rejected application of every program was suggested, in order, and all rewards."""
    specs = write_programs("loan", world, folder / "programs", {policy: {} for policy in policies})
    recorders = {program: Recorder() for program in specs}
    read = world.targets if isinstance(world, TruthWorld) else first_candidate
    programs = [SimulatedProgram(program, world, recorder, read) for program, recorder in recorders.items()]
    simulation = Simulation(map(LockstepRun, programs))
    memory = Memory(specs.values(), folder / "state")
    decoder = EventDecoder(memory.topics)
    rewards = []
    await memory.start()
    now_ms = START_MS
    while not simulation.done:
        now_ms += 1
        for event in simulation.next_events(now_ms):
            await memory.publish(event)
        for topic in memory.topics.outputs:
            for record in memory.unread(topic):
                event = decoder.read(record).event
                simulation.receive(event)
                rewards += [event] if isinstance(event, Reward) else []
    await memory.stop()
    return {program: recorder.suggestions for program, recorder in recorders.items()}, rewards


@pytest.fixture(scope="module")
def truth_world():
    spec = load_spec(ARLIM_SPEC).spec
    spec = msgspec.structs.replace(spec, policy=msgspec.structs.replace(spec.policy, generator="search", options=2))
    table = Population(seed=3).table(spec, 500)
    return TruthWorld(spec, table, Repayment(FeatureCodec(spec)), seed=3, people=60, approved_share=0.2)


async def test_options_made_for_people_are_scored_by_the_truth_and_outcomes_name_the_one_taken(truth_world, tmp_path):
    suggestions, rewards = await simulated(truth_world, ("protoar",), tmp_path)
    offer_options(truth_world, [tmp_path / "programs" / "loan-protoar" / "spec.yaml"])
    rounds = [t for t in range(truth_world.people) if truth_world.is_rejected(t)]
    assert [t for t, _ in suggestions["loan-protoar"]] == rounds
    assert max(len(targets) for _, targets in suggestions["loan-protoar"]) == 2
    expected = {}
    for t, targets in suggestions["loan-protoar"]:
        assert 0 < truth_world.expected_reward(t, targets) <= truth_world.oracle(t)
        outcome = truth_world.outcome(t, targets)
        if outcome is not None:
            expected[outcome.application] = str(outcome.option + 1)
    credited = {reward.application: reward.option for reward in rewards if reward.fate in ("rewarded", "late")}
    assert credited == expected
    assert set(expected.values()) == {"1", "2"}


def plain_loop(world, learner):
    """LinUCB in the world's own rounds, without a pipeline: a reward counts when at most ``window`` rounds late."""
    picks, arriving = [], defaultdict(list)
    people = [t for t in range(world.people) if world.is_rejected(t)]
    candidates = range(len(world.instances))
    for number, t in enumerate(people):
        execution = np.array([math.exp(-world.cost(t, k) / len(world.columns)) for k in candidates])
        feasible = np.flatnonzero([world.is_feasible(t, k) for k in candidates])
        options = Options(np.zeros(1), feasible, learner.points, feasible, execution[feasible])
        pick = learner.choose(options, np.random.default_rng)
        picks.append((t, None if pick is None else pick.arm))
        outcome = None if pick is None else world.outcome(t, pick.arm)
        if outcome is not None and outcome.due < world.people and people.index(outcome.due) < number + learner.window:
            arriving[outcome.due].append(Pull(number, pick.arm, execution[pick.arm]))
        for pull in arriving.pop(t, []):
            learner.update(pull, 1.0)
    return picks


async def test_a_world_through_the_pipeline_gives_the_suggestions_of_plain_loops(world, tmp_path):
    picks, _ = await simulated(world, ("protoar", "linucb"), tmp_path)
    assert picks["loan-linucb"] == plain_loop(world, LinUCB(np.zeros((len(world.instances), 1)), 10))
    easiest = [
        (t, min((k for k in range(len(world.instances)) if world.is_feasible(t, k)), key=lambda k: world.cost(t, k)))
        if any(world.is_feasible(t, k) for k in range(len(world.instances)))
        else (t, None)
        for t in range(world.people)
        if world.is_rejected(t)
    ]
    assert picks["loan-protoar"] == easiest


def test_events_have_the_topics_values_and_headers_of_the_contract(world):
    run, _ = simulation(TinyWorld((True,), {0: 0}))
    (application,) = run.next_events(START_MS)
    run.receive(recourse("0"))
    (outcome,) = run.next_events(START_MS)
    topics = Topics(prefix="demo.")
    assert application.topic(topics) == "demo.applications"
    assert outcome.topic(topics) == "demo.outcomes"
    assert msgspec.json.decode(outcome.value, type=Outcome) == Outcome("loan", "0", "improved")
    assert dict(outcome.headers)["ce_type"] == b"onward.outcome.v1"

"""LinUCB through the whole pipeline, over real sockets, on the worlds of the ARLIM paper: every decision is that of a
plain loop of Algorithm 1 on the stored arrays.

On the embedded broker: the first people of one world of each data set. On a real Kafka: all people of all fifteen."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field

import pytest

from onward.benchmarks.improvement.stored_worlds import from_arrays
from onward.environments.people import PACKAGED_SPECS
from onward.environments.play.driver import connect, drive
from onward.environments.play.lockstep import LockstepRun, SimulatedProgram
from onward.environments.play.program_folders import write_programs
from onward.environments.play.simulation import Simulation
from onward.schemas.specfile import load_spec
from onward.streams.kafka.service import run_service
from onward.streams.settings import WorkerSettings
from onward.streams.topics import Topics, plan
from onward.tests.support.reference_worlds import WORLDS, load_world, plain_loop, stored_arrays

REGULARISATION = 20.0
FIRST_PEOPLE = 150
BY_PERSON = ("X", "U", "delay")
"""The arrays of a world that have one row a person."""


@dataclass
class Actions:
    """Records the suggested candidate of every round."""

    suggested: list[int | None] = field(default_factory=list)

    def record(self, t, k):
        assert t == len(self.suggested)
        self.suggested.append(k)


async def simulate_all(worlds, options, folder, topics):
    specs = {name: write_programs(name, world, folder, {"linucb": {}}) for name, world in worlds.items()}
    actions = {name: Actions() for name in worlds}
    programs = [SimulatedProgram(*specs[name], worlds[name], actions[name]) for name in worlds]
    settings = WorkerSettings(
        brokers=options.brokers,
        topic_prefix=topics.prefix,
        group=options.group,
        spec=tuple(path for written in specs.values() for path in written.values()),
        state_dir=folder / "state",
        fetch_wait_seconds=options.fetch_max_wait_ms / 1000,
        web=False,
    )
    stop = asyncio.Event()
    worker = asyncio.create_task(run_service(settings, stop=stop, signals=False))

    def check_worker():
        if worker.done():
            worker.result()

    def simulate():
        callbacks = {"on_event": lambda *_: None, "on_poll": check_worker, "advice": lambda: "parity"}
        with connect(options, topics, topics.outputs, "beginning") as client:
            drive(Simulation(map(LockstepRun, programs)), client, patience_seconds=3600, **callbacks)

    await asyncio.to_thread(simulate)
    stop.set()
    await worker
    return {name: recorded.suggested for name, recorded in actions.items()}


def world_of(reference, people):
    """The first people of a stored world."""
    arrays = stored_arrays(reference.data_set, reference.seed)
    shortened = {name: array[:people] if name in BY_PERSON else array for name, array in arrays.items()}
    return from_arrays(shortened, load_spec(PACKAGED_SPECS / f"{reference.data_set.lower()}.yaml").spec)


def test_every_decision_is_that_of_the_plain_loop(broker, tmp_path):
    chosen = WORLDS if broker.is_real else [(data_set, seed) for data_set, seed in WORLDS if seed == 0]
    people = None if broker.is_real else FIRST_PEOPLE
    references = {f"{data_set.lower()}-{seed}": load_world(data_set, seed) for data_set, seed in chosen}
    worlds = {name: world_of(reference, people) for name, reference in references.items()}
    topics = Topics(prefix=f"{broker.group}-")
    broker.create(plan(topics, 2, 1))
    actions = asyncio.run(simulate_all(worlds, broker.options(), tmp_path, topics))
    for name, reference in references.items():
        expected = plain_loop(reference, REGULARISATION, noise=0.0)
        assert actions[name] == expected[:people], name
        known = reference.result(f"LinUCB lambda={REGULARISATION:g} (common draws)", 0.0)
        assert reference.metrics(expected) == pytest.approx(known, rel=0, abs=5e-7)

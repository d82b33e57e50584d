"""LinUCB through the whole pipeline, over real sockets, on the worlds of the ARLIM paper: every decision is that of a
plain loop of Algorithm 1 on the stored arrays. Three worlds on the embedded broker, all fifteen on a real Kafka."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field

import pytest

from onward.environments.stored_worlds import from_arrays
from onward.schemas.specfile import load_spec
from onward.streams.cli.drive import connect, play
from onward.streams.cli.programs import write_programs
from onward.streams.cli.worlds import PACKAGED
from onward.streams.kafka.service import run_service
from onward.streams.settings import WorkerSettings
from onward.streams.simulation.lockstep import Play, Simulation
from onward.streams.topics import Topics, plan
from onward.tests.support.reference_worlds import WORLDS, load_world, plain_loop, stored_arrays

REGULARISATION = 20.0


@dataclass
class Actions:
    """The score board: which candidate was suggested in which round."""

    taken: list[int | None] = field(default_factory=list)

    def record(self, t, k):
        assert t == len(self.taken)
        self.taken.append(k)


async def play_all(worlds, options, folder, topics):
    specs = {name: write_programs(name, world, folder, ["linucb"]) for name, world in worlds.items()}
    boards = {name: Actions() for name in worlds}
    plays = [Play(*specs[name], worlds[name], boards[name]) for name in worlds]
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

    def turn():
        if worker.done():
            worker.result()

    def drive():
        with connect(options, topics, topics.outputs, "beginning") as link:
            play(Simulation(plays), link, seen=lambda *_: None, turn=turn, patience_seconds=60, hint=lambda: "parity")

    await asyncio.to_thread(drive)
    stop.set()
    await worker
    return {name: board.taken for name, board in boards.items()}


@pytest.mark.timeout(600)
def test_every_decision_is_that_of_the_plain_loop(broker, tmp_path):
    chosen = WORLDS if broker.is_real else [(data_set, seed) for data_set, seed in WORLDS if seed == 0]
    reference = {f"{data_set.lower()}-{seed}": load_world(data_set, seed) for data_set, seed in chosen}
    worlds = {
        name: from_arrays(
            stored_arrays(world.data_set, world.seed), load_spec(PACKAGED / f"{world.data_set.lower()}.yaml").spec
        )
        for name, world in reference.items()
    }
    topics = Topics(prefix=f"{broker.group}-")
    broker.create(plan(topics, 2, 1))
    actions = asyncio.run(play_all(worlds, broker.options(), tmp_path, topics))
    for name, world in reference.items():
        assert actions[name] == plain_loop(world, REGULARISATION, noise=0.0), name
        known = world.result(f"LinUCB lambda={REGULARISATION:g} (common draws)", 0.0)
        assert world.metrics(actions[name]) == pytest.approx(known, rel=0, abs=5e-7)

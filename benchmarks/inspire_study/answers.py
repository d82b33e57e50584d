"""What people's answers teach: whom the options of ``onward demo --world options`` satisfy, by what is known of people.

The demo's programs and people without Kafka: an option is picked as soon as a set is shown, and the pick is learned
before the next person applies, as in the demo.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from copy import copy
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

import numpy as np

from onward.agents.costs import Preferences, SampledCost
from onward.agents.costs.preferences import prior_shares
from onward.agents.options import OptionBatch, Options
from onward.benchmarks.face import Row, progress
from onward.environments.options import FIFTH, KNOWN_PICKS, OptionsWorld
from onward.environments.truth import PreferenceWorld
from onward.streams.cli.demo import DemoSettings
from onward.streams.engine.assessment import propose
from onward.streams.engine.state import CurrentModel
from onward.streams.programs.assembly import assemble
from onward.streams.programs.program import Program
from onward.streams.programs.spec_check import load_program_spec

from .data import Array, Mask

PICKS = 300
"""Options that people take until what was learned is compared."""
DRAWS = 5
"""How often other preferences are drawn for the same people, who judge what was learned."""
MEASURES = ("learned", "one option", "nothing learned", "known")
"""Whom the last fifth's options satisfy, by what the program knows of people."""
RISE, NEAR, LOSS = 8.0, 2.0, 1.0
"""Aims, in points: what is learned in the demo's population, how near it comes to known preferences, and what may be
lost in the paper's population, of which there is nothing to learn."""

Draw = Callable[[np.random.Generator, int], Mask]
"""Draws which features n people can change, (n, F)."""


class Server:
    """A program, and what it proposes to the people of a world.

    Parameters
    ----------
    program
        The program; its cost is sampled.
    world
        The people.
    """

    def __init__(self, program: Program, world: PreferenceWorld) -> None:
        self.program, self._row_of = program, world.row_of
        self._batch: OptionBatch = propose(program, CurrentModel.from_bundle(program, program.bundle), world.distinct)
        self._learner = program.learner()

    def preferences(self, shares: Array | None = None) -> Preferences:
        """What is believed of people's preferences: nothing yet, or that these shares (F,) are known."""
        preferences = self.program.preferences()
        assert preferences is not None, "the program's cost is sampled"
        if shares is None:
            return preferences
        return preferences.restore({"editable": shares * KNOWN_PICKS, "seen": np.full(len(shares), KNOWN_PICKS)})

    def shown(self, t: int, preferences: Preferences) -> Options:
        """The options that application t is shown."""
        batch = self._batch.with_preferences(preferences) if preferences.picks else self._batch
        options = batch.options_of(int(self._row_of[t]))
        picks = self._learner.select(options, self.program.spec.policy.options, np.random.default_rng)
        return options.subset(np.array([int(options.arm.searchsorted(pick.arm)) for pick in picks], dtype=np.intp))


class Taught(NamedTuple):
    """What came of showing options to all rejected applications in turn.

    ``satisfied`` are the applications that take an option; ``after`` is what is believed after ``PICKS`` of them, or
    after all where there are fewer.
    """

    satisfied: frozenset[int]
    after: Preferences


def teach(server: Server, world: PreferenceWorld) -> Taught:
    """Show everybody options, and learn from each answer."""
    preferences, after = server.preferences(), server.preferences()
    satisfied = set[int]()
    for t in world.rejected_applications:
        shown = server.shown(t, preferences)
        if not shown.number:
            continue
        assert shown.samples is not None, "the program's cost is sampled"
        lessons = shown.samples.served(server.program.satisfied).lessons
        place, so_far = world.pick(t, shown.targets), len(satisfied)
        preferences.learn(lessons[-1 if place is None else place])
        if place is not None:
            satisfied.add(t)
        if so_far < PICKS:
            after.restore(preferences.state())
    return Taught(frozenset(satisfied), after)


def takers(server: Server, worlds: Sequence[PreferenceWorld], preferences: Preferences) -> list[frozenset[int]]:
    """The applications that take an option in each of several worlds of the same people, where nothing is learned."""
    shown = {t: server.shown(t, preferences).targets for t in worlds[0].rejected_applications}
    return [
        frozenset(t for t, targets in shown.items() if len(targets) and world.pick(t, targets) is not None)
        for world in worlds
    ]


class Population(NamedTuple):
    """A world's people, whose preferences are ``drawn``, and the shares (F,) who can change each feature."""

    world: PreferenceWorld
    shares: Array
    drawn: Draw

    def judges(self, cost: SampledCost, seed: int) -> list[PreferenceWorld]:
        """The same people with other preferences of the same distribution."""
        worlds = [copy(self.world) for _ in range(DRAWS)]
        for number, world in enumerate(worlds):
            random = np.random.default_rng([seed, number])
            world.draw(cost, self.drawn(random, world.rejected), random)
        return worlds


def demos(world: PreferenceWorld, cost: SampledCost, seed: int) -> Population:
    """The demo's: of a third of the features most people can change each, of the others few."""
    own = copy(world)
    own.know(cost, seed)
    shares = own.shares
    return Population(own, shares, lambda random, people: random.random((people, len(shares))) < shares)


def papers(world: PreferenceWorld, cost: SampledCost, seed: int) -> Population:
    """The paper's: from one to all features, uniformly many, each as probably as another (algorithm 4)."""
    movable, random = cost.columns.movable, np.random.default_rng(seed)
    own, drawn = copy(world), partial(draw_uniformly, movable)
    own.draw(cost, drawn(random, world.rejected), random)
    return Population(own, prior_shares(movable), drawn)


def draw_uniformly(movable: Mask, random: np.random.Generator, people: int) -> Mask:
    """From one to all of the movable features (F,) of each person, uniformly many, (n, F)."""
    free = np.flatnonzero(movable)
    editable = np.zeros((people, len(movable)), dtype=np.bool_)
    numbers = random.integers(1, len(free) + 1, size=(people, 1))
    editable[:, free] = random.random((people, len(free))).argsort(axis=1).argsort(axis=1) < numbers
    return editable


class Learned(NamedTuple):
    """Shares of people who are satisfied, in per cent: of the last fifth by ``MEASURES``; two differences in points.

    ``rise`` is what is learned after ``PICKS`` picks above nothing learned, ``left`` what it is below known
    preferences, of all people with preferences that taught nothing.
    """

    last: Mapping[str, float]
    rise: float
    left: float


def learned(population: Population, several: Server, one: Server, seed: int) -> Learned:
    """What is learned in a population, by a program of several options and another one of a single option."""
    world = population.world
    rejected = world.rejected_applications
    last = rejected[-max(1, int(len(rejected) * FIFTH)) :]
    taught, single = teach(several, world), teach(one, world)
    cost = several.program.cost
    assert isinstance(cost, SampledCost), "the program's cost is sampled"
    worlds = [world, *population.judges(cost, seed)]
    (nothing, *unlearned), (all_known, *known), (_, *after) = (
        takers(several, worlds, preferences)
        for preferences in (several.preferences(), several.preferences(population.shares), taught.after)
    )
    found = dict(zip(MEASURES, (taught.satisfied, single.satisfied, nothing, all_known), strict=True))
    shares = [100.0 * np.mean([len(each) for each in sets]) / len(rejected) for sets in (after, unlearned, known)]
    return Learned(
        {name: 100.0 * len(who & frozenset(last)) / len(last) for name, who in found.items()},
        float(shares[0] - shares[1]),
        float(shares[2] - shares[0]),
    )


POPULATIONS = {"demo": demos, "paper": papers}


def of_seed(seed: int, people: int | None = None) -> Mapping[str, Learned]:
    """What is learned in each population, with the demo's programs of a seed; ``people`` are its own where None."""
    settings = DemoSettings.model_validate({"seed": seed} | ({} if people is None else {"people": people}))
    demo = OptionsWorld(settings, lambda note: progress(f"seed {seed}: {note}"))
    world = demo.world
    assert isinstance(world, PreferenceWorld), "the demo's people have preferences"
    with TemporaryDirectory() as folder:
        programs = [assemble(load_program_spec(spec)) for spec in demo.write(Path(folder, "programs")).values()]
        several, one = (Server(program, world) for program in programs)
    cost = several.program.cost
    assert isinstance(cost, SampledCost), "the program's cost is sampled"
    found = {}
    for name, population in POPULATIONS.items():
        progress(f"seed {seed}: the {name}'s population")
        found[name] = learned(population(world, cost, seed), several, one, seed)
    return found


def answers(seeds: Sequence[int], people: int | None = None) -> Iterator[Row]:
    """What is learned with each seed, then the means."""
    by_seed: dict[int, Mapping[str, Learned]] = {}
    for seed in seeds:
        by_seed[seed] = of_seed(seed, people)
        for name, own in by_seed[seed].items():
            for measure, value in own.last.items():
                yield Row(f"answers, {name}'s population, seed {seed}: {measure}, last fifth", value, "%")
            yield from _differences(f"answers, {name}'s population, seed {seed}", name, {seed: own})
    for name in POPULATIONS:
        yield from _differences(
            f"answers, {name}'s population, mean", name, {seed: own[name] for seed, own in by_seed.items()}
        )


def _differences(title: str, name: str, by_seed: Mapping[int, Learned]) -> Iterator[Row]:
    """The differences, beside their aims."""
    last = {seed: own.last["known"] - own.last["learned"] for seed, own in by_seed.items()}
    rises, left = ({seed: getattr(own, field) for seed, own in by_seed.items()} for field in ("rise", "left"))
    least, most = (RISE, NEAR) if name == "demo" else (-LOSS, None)
    yield Row(f"{title}: below known, last fifth", _mean(last), "points", aim=most, better="lower", by_seed=last)
    yield Row(f"{title}: above nothing learned, {PICKS} picks", _mean(rises), "points", aim=least, by_seed=rises)
    yield Row(f"{title}: below known, {PICKS} picks", _mean(left), "points", aim=most, better="lower", by_seed=left)


def _mean(by_seed: Mapping[int, float]) -> float:
    return float(np.mean(list(by_seed.values())))

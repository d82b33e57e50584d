"""The world of options: people differ in what they can change, and say which of their options they would take.

They ask for a place in a course, with twelve skills that they may practise.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar

import msgspec
import numpy as np

from ..agents.arrays import Array
from ..agents.costs import SampledCost
from ..agents.sigmoid import sigmoid
from ..schemas.encoding import FeatureCodec
from ..schemas.events import Value
from ..schemas.spec import ProgramSpec
from ..schemas.table import Table
from ..streams.cli.display.words import mean
from ..streams.engine.assessment import propose
from ..streams.engine.picks.pick import NONE
from ..streams.engine.state import CurrentModel
from ..streams.programs.assembly import assemble
from ..streams.programs.program import Program
from ..streams.programs.spec_check import load_program_spec
from .figures.recording import Recording, Summary
from .figures.sections import Section, ShownWorld
from .people import PeopleWorld, served_by_steps
from .play.lockstep import LockstepRun, SimulatedProgram
from .play.program_folders import program_name, write_programs
from .play.simulation import Simulation
from .rounds import Scoreboard
from .truth import PreferenceWorld, Truth, TruthWorld

SPEC = Path(__file__).parent / "specs" / "course.yaml"
"""The program spec of this population."""
PEOPLE = 8000
AGES = ("under_30", "30_to_49", "50_and_over")
HIGHEST = 10
TALENT = 0.8
"""The standard deviation of what a person's skills have in common, in levels."""
LEVEL = 3.5
"""The mean level of a skill."""
ENOUGH = 45.0
"""The sum of levels with which half of the people pass."""
LEVELS_PER_LOGIT = 2.0


class Passing:
    """The probability that people pass, which follows from the sum of their skills alone.

    Parameters
    ----------
    codec
        That of the spec at ``SPEC``: the columns after the first are skills, of 0 to 1.
    """

    def __init__(self, codec: FeatureCodec) -> None:
        self._skills = np.array([feature.type == "integer" for feature in codec.spec.features])[codec.feature_of]

    def probability(self, X: Array) -> Array:
        """The probability of passing (n,) of encoded people (n, D)."""
        return np.asarray(sigmoid((HIGHEST * X[:, self._skills].sum(axis=1) - ENOUGH) / LEVELS_PER_LOGIT))


def skilled_people(spec: ProgramSpec, seed: int) -> Table:
    """``PEOPLE`` people as a data file of the spec at ``SPEC`` would hold them, label 1 = passed."""
    random, codec = np.random.default_rng(seed), FeatureCodec(spec)
    names = [feature.name for feature in spec.features if feature.type == "integer"]
    talent = TALENT * random.standard_normal((PEOPLE, 1))
    levels = np.clip(np.round(LEVEL + talent + 1.8 * random.standard_normal((PEOPLE, len(names)))), 0, HIGHEST)
    ages = random.integers(len(AGES), size=PEOPLE)
    rows: list[dict[str, Value]] = [
        {"age_band": AGES[age], **dict(zip(names, map(int, skills), strict=True))}
        for age, skills in zip(ages.tolist(), levels.tolist(), strict=True)
    ]
    encoded = codec.encode_many(rows)
    labels = (random.random(PEOPLE) < Passing(codec).probability(encoded)).astype(np.int64)
    return Table(rows, labels, encoded)


ONE = "one option"
"""The name in tables of the policy of the program that suggests one option."""
FIFTH = 0.2
NAMES = (
    "first fifth",
    "last fifth",
    "one option, last fifth",
    "known population, last fifth",
    "known population, first fifth",
    "nothing learned, last fifth",
)
KNOWN_PICKS = 1e6
"""Picks after which the shares of a population count as known."""
Places = dict[int, int | None]
"""The place of the option that people take, from 0, by application; None where they take none."""


class OptionsWorld(PeopleWorld):
    """Generated people, a third of whose skills most can practise, and the others few.

    The first policy is served by a second program, too, that suggests one option.
    """

    name: ClassVar[str] = "options"
    in_words: ClassVar[str] = "generated applicants, who can change different features and say which option they take"
    default_policies: ClassVar[tuple[str, ...] | None] = ("emc",)
    default_people: ClassVar[int | None] = 800
    takes_data: ClassVar[bool] = False
    reads_journal: ClassVar[bool] = True
    more_programs: ClassVar[int] = 1
    truth_world: ClassVar[type[TruthWorld]] = PreferenceWorld

    def _generated(self, seed: int) -> tuple[ProgramSpec, Table]:
        spec = load_program_spec(SPEC).spec
        return served_by_steps(spec), skilled_people(spec, seed)

    def _truth(self, spec: ProgramSpec, table: Table) -> tuple[Table, Truth]:
        return table, Passing(FeatureCodec(spec))

    def _under_conditions(self, spec: ProgramSpec) -> ProgramSpec:
        policy = msgspec.structs.replace(spec.policy, objective="cost", choice="emc", cost="mixed", parameters={})
        return msgspec.structs.replace(spec, policy=policy)

    @property
    def _people(self) -> PreferenceWorld:
        assert isinstance(self.world, PreferenceWorld), "generated people have preferences"
        return self.world

    def write(self, folder: Path) -> Mapping[str, Path]:
        """One program for each choice, and one that suggests one option."""
        first = next(iter(self.choices))
        several = write_programs(self.title, self._people, folder, self.choices)
        single = write_programs(f"{self.title}-one", self._people.with_options(1), folder, {first: {}})
        return {**several, **single}

    def policy_of(self, program: str) -> str:
        """Its choice, or that it suggests one option."""
        names = {program_name(self.title, choice): choice for choice in self.choices}
        return names.get(program, ONE)

    def scoreboards(self, specs: Mapping[str, Path], every: int) -> Mapping[str, Scoreboard]:
        """They know the best option of everybody, once people's preferences are drawn in the programs' unit."""
        cost = assemble(load_program_spec(next(iter(specs.values())))).cost
        assert isinstance(cost, SampledCost), "the programs' cost is sampled"
        self._people.know(cost, self.settings.seed)
        return super().scoreboards(specs, every)

    def play(self, specs: Mapping[str, Path], scoreboards: Mapping[str, Scoreboard], prefix: str = "") -> Simulation:
        """In lock-step with the answers, and with what people say of their options."""
        self.note("suggesting options to everybody as if the population were known, and as if nothing were ...")
        program = assemble(load_program_spec(specs[next(iter(specs))]))
        self._known, self._unlearned = (
            picks_believing(shares, program, self._people) for shares in (self._people.shares, None)
        )
        self._places: dict[str, Places] = {program: {} for program in specs}
        return Simulation(LockstepRun(self._simulated(program, scoreboards[program]), prefix) for program in specs)

    def _simulated(self, program: str, scoreboard: Scoreboard) -> SimulatedProgram:
        """A program, and the picks of people among its options."""

        def pick(t: int, targets: Any) -> int | None:
            place = self._places[program][t] = self._people.pick(t, targets)
            return place

        return SimulatedProgram(program, self._people, scoreboard, self._people.targets, pick)

    def show(self, recording: Recording, summary: Summary) -> ShownWorld:
        """Whom the options satisfy, and the options that people take of the first program."""
        several = next(iter(self._places.values()))
        single = next(places for program, places in self._places.items() if self.policy_of(program) == ONE)
        shares = satisfied(self._people.rejected_applications, several, single, self._known, self._unlearned)
        by_place = Counter(NONE if place is None else str(place + 1) for place in several.values())
        picks, taken = by_place.total() - by_place[NONE], dict(sorted(by_place.items()))
        rows = [("satisfied", "share"), *zip(NAMES, map(mean, shares.values()), strict=True)]
        places = ", ".join(f"{place}: {count}" for place, count in taken.items())
        lines = [f"{picks:,} people said that they would take an option, by its place {places}"]
        data = {"satisfied": shares, "picks": picks, "taken_by_place": taken}
        line = " / ".join(mean(shares[name]) for name in ("first", "last", "one_option", "known"))
        return ShownWorld(
            super().show(recording, summary).served,
            f"satisfied, first / last / one option / known: {line}",
            [Section("Options for people whose preferences nobody knows", rows, lines, data=data)],
        )

    def example_program(self, specs: Mapping[str, Path]) -> str:
        """The first one."""
        return next(iter(specs))


def satisfied(
    rejected: Sequence[int], several: Places, single: Places, known: Places, unlearned: Places
) -> Mapping[str, float | None]:
    """The shares of people for whom an option costs little enough: among the first and the last fifth of a program.

    ``one_option``, ``known`` and ``unlearned`` are shares of the last fifth: of the program that suggests one option,
    and as it would be if the shares of people who can change each feature were known, and if no pick taught anything.
    ``known_first`` is that of the first fifth if they were known. Different people differ more than what is learned
    makes of them: so what is learned is what ``last`` is above ``unlearned``, and what is left what it is below
    ``known``. None where nobody has been answered yet.
    """
    fifth = max(1, int(len(rejected) * FIFTH))
    first, last = rejected[:fifth], rejected[-fifth:]
    return {
        "first": _share(several, first),
        "last": _share(several, last),
        "one_option": _share(single, last),
        "known": _share(known, last),
        "known_first": _share(known, first),
        "unlearned": _share(unlearned, last),
    }


def picks_believing(shares: Array | None, program: Program, world: PreferenceWorld) -> Places:
    """What people would take of the options of a program that believes in these shares of them who can change each
    feature, (F,); None for a program that nobody has told anything."""
    preferences, learner = program.preferences(), program.learner()
    assert preferences is not None, "the program's cost is sampled"
    batch = propose(program, CurrentModel.from_bundle(program, program.bundle), world.distinct)
    if shares is not None:
        preferences.restore({"editable": shares * KNOWN_PICKS, "seen": np.full(len(shares), KNOWN_PICKS)})
        batch = batch.with_preferences(preferences)
    places: Places = {}
    for t in world.rejected_applications:
        options = batch.options_of(int(world.row_of[t]))
        policy = program.spec.policy
        picks = learner.select(options, policy.options, np.random.default_rng, second_way=policy.second_way)
        if picks:
            chosen = np.array([int(options.arm.searchsorted(pick.arm)) for pick in picks])
            places[t] = world.pick(t, options.subset(chosen).targets)
    return places


def _share(places: Places, applications: Sequence[int]) -> float | None:
    """The share of people who take an option, of those answered so far, if any. Who has no option takes none."""
    last = max(places, default=-1)
    answered = [t for t in applications if t <= last]
    return sum(places.get(t) is not None for t in answered) / len(answered) if answered else None

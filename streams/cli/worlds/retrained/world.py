"""The world of retrained models, and the two programs that serve it with the same models.

One promises that its options survive a retrained model, the other suggests what the model of the day accepts.

programs/retrained-robust/spec.yaml, model/, retrained-1/, retrained-2/
programs/retrained-plain/...
"""

from __future__ import annotations

import csv
from collections.abc import Mapping, Sequence
from datetime import timedelta
from functools import cached_property
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import ClassVar

import msgspec
import numpy as np
from numpy.typing import NDArray

from .....environments.population import SPEC, Population
from .....environments.retrained import Settings, World
from .....environments.rounds import Scoreboard
from .....schemas.events import Value
from .....schemas.spec import Policy, ProgramSpec, PromiseTerms, Retention, Window
from ....errors import UsageError
from ....programs.assembly import assemble
from ....programs.bundle.loader import ModelBundle
from ....programs.bundle.writer import copy_bundle
from ....programs.program import Program
from ....programs.spec_check import load_program_spec
from ....programs.training.train import EstimatorName, train
from ....settings import WorldSettings
from ..contract import Note, Play, SimulatedWorld
from ..program_folders import MODEL_FOLDER, SPEC_FILE, new_folder, write_spec
from .days import NewModel, RetrainedSimulation, ServedWorld, Taken
from .figures import ReturnFigures

NAME = "retrained"
ROBUST, PLAIN = f"{NAME}-robust", f"{NAME}-plain"
WINDOW, REMEMBERED = timedelta(days=90), timedelta(days=365)
OPTIONS = 3
PROMISE = PromiseTerms(kind="ellipsoid", valid_for=WINDOW)
ESTIMATOR: EstimatorName = "logistic_regression"

HARDSHIP = (0.0, 0.15, 0.3)
"""The amounts taken from everybody's strength in the people that each model is trained on."""
SEEDS = 1_000_000_001
"""Keeps the seeds of populations apart: that of sample k is the world's seed + k times this. The newcomers are of the
sample after the last that a model is trained on."""
POOL = 4000
"""People among whom the newcomers are drawn."""

Features = Mapping[str, Value]


class RetrainedWorld(SimulatedWorld):
    """Two programs with the same people and models. ``people`` are the newcomers of each."""

    name: ClassVar[str] = NAME
    in_words: ClassVar[str] = "a model that is trained again while people do what was asked"
    # It suggests the cheapest options and learns nothing: the programs differ in their promise alone.
    default_policies: ClassVar[tuple[str, ...] | None] = ("protoar",)
    default_people: ClassVar[int | None] = 300
    announces_models: ClassVar[bool] = True
    tick_seconds: ClassVar[float | None] = 0.0  # the days of the world are in the past
    reads_journal: ClassVar[bool] = True

    def __init__(self, settings: WorldSettings, note: Note) -> None:
        super().__init__(settings, note)
        if len(self.policies) > 1:
            names = ",".join(self.policies)
            raise UsageError(f"--policies {names}: name one choice, for both programs of --world {NAME}")
        if not self.people:
            raise UsageError("--people 0: a world with retrained models ends, give a number of newcomers")
        self.rules = Settings()
        self._models: dict[str, _Models] = {}

    @property
    def facts(self) -> Mapping[str, str]:
        """Newcomers and days."""
        return {"newcomers per program": f"{self.people:,}", "days": f"{self.rules.days:,}"}

    @property
    def serves(self) -> str:
        """The days."""
        return f"{self.rules.days:,} days"

    def write(self, folder: Path) -> Mapping[str, Path]:
        """Train the models, and write them for both programs."""
        self.note("training the model, the models that will replace it, and the retrains of each ...")
        (choice,), seed = self.policies, self.settings.seed
        robust, plain = _spec(ROBUST, choice, PROMISE, None), _spec(PLAIN, choice, PromiseTerms(), 0.0)
        specs: dict[str, Path] = {}
        for spec in (robust, plain):
            new_folder(folder / spec.program)
            specs[spec.program] = write_spec(folder / spec.program / SPEC_FILE, spec)
        loaded = load_program_spec(specs[ROBUST])
        with TemporaryDirectory(prefix="onward-") as data:
            for number, hardship in enumerate(HARDSHIP):
                sample = Path(data) / f"people-{number}.csv"
                _write_sample(sample, robust, seed + number * SEEDS, hardship)
                output = folder / ROBUST / _model_folder(number)
                train(sample, loaded, output, estimator=ESTIMATOR, seed=seed)
                copy_bundle(output, folder / PLAIN / _model_folder(number), PLAIN)
        return specs

    def written(self, folder: Path) -> Mapping[str, Path] | None:
        """Those of both programs, where one is there."""
        specs = {program: folder / program / SPEC_FILE for program in (ROBUST, PLAIN)}
        return specs if (folder / ROBUST).exists() else None

    def scoreboards(self, specs: Mapping[str, Path], every: int) -> Mapping[str, Scoreboard]:
        """By what the models to come say of suggestions."""
        self._models = {name: _Models(assemble(load_program_spec(path)), path.parent) for name, path in specs.items()}
        return {name: Scoreboard(_Worth(models, self.rules), every) for name, models in self._models.items()}

    def policy_of(self, program: str) -> str:
        """``robust`` or ``plain``."""
        return program.removeprefix(f"{NAME}-")

    def play(self, specs: Mapping[str, Path], scoreboards: Mapping[str, Scoreboard], prefix: str = "") -> Play:
        """The same newcomers in both programs."""
        newcomers = self._newcomers(next(iter(self._models.values())))
        worlds = [
            ServedWorld(
                program,
                World(self.rules, newcomers, seed=self.settings.seed),
                models.announced(self.rules),
                models.approves,
                scoreboards[program],
            )
            for program, models in self._models.items()
        ]
        simulation = RetrainedSimulation(worlds, self.rules.days, prefix)
        return Play(simulation, ReturnFigures(simulation, {name: self.policy_of(name) for name in specs}))

    def _newcomers(self, models: _Models) -> Sequence[Features]:
        """People of whom the first model approves about ``approved_share``."""
        settings = self.settings
        pool = Population(seed=settings.seed + len(HARDSHIP) * SEEDS).table(models.program.spec, POOL).rows
        approved = models.verdicts(0, pool)
        random = np.random.default_rng([settings.seed, len(HARDSHIP)])
        chosen = random.random(self.people) < settings.approved_share
        groups = [np.flatnonzero(approved == verdict) for verdict in (False, True)]
        drawn = np.where(chosen, random.choice(groups[1], self.people), random.choice(groups[0], self.people))
        return [pool[index] for index in drawn.tolist()]


class _Models:
    """The models of a program, numbered in the order of their announcement."""

    def __init__(self, program: Program, folder: Path) -> None:
        self.program, self._folder = program, folder

    @cached_property
    def bundles(self) -> Sequence[ModelBundle]:
        """The models; the first is the program's own."""
        later = [self.program.load(str(self._manifest(number)), None) for number in range(1, len(HARDSHIP))]
        return [self.program.bundle, *later]

    def announced(self, rules: Settings) -> list[NewModel]:
        """The models after the first, and the days on which they are announced."""
        return [
            NewModel(day, bundle.version, str(self._manifest(number)), bundle.manifest_sha256)
            for number, (day, bundle) in enumerate(zip(rules.retrained_on, self.bundles[1:], strict=True), 1)
        ]

    def verdicts(self, model: int, people: Sequence[Features]) -> NDArray[np.bool_]:
        """A mask of those of these people whom a model approves, (n,)."""
        return self.program.approves(self.bundles[model].model.score(self.program.codec.encode_many(people)))

    def approves(self, model: int, features: Features) -> bool:
        """Whether a model approves a person."""
        return bool(self.verdicts(model, [features])[0])

    def share(self, first: int, features: Features) -> float:
        """The share of the models from this one on that approves a person."""
        verdicts = [self.approves(model, features) for model in range(first, len(self.bundles))]
        return sum(verdicts) / len(verdicts)

    def _manifest(self, number: int) -> Path:
        return (self._folder / _model_folder(number) / "manifest.json").resolve()


class _Worth:
    """The worth of suggestions, for a scoreboard: whether the models to come accept them.

    Of those who get options, ``acts`` times ``complete`` of the settings do all of what they are asked. Nobody can do
    better than to suggest to all of them what every model accepts.
    """

    def __init__(self, models: _Models, rules: Settings) -> None:
        self._models, self._done = models, rules.acts * rules.complete

    def oracle(self, t: int) -> float:
        """The probability that somebody does all of what they are asked."""
        return self._done

    def expected_reward(self, t: int, taken: Taken) -> float:
        """The probability that they do, and are accepted by one of the models from now on, drawn evenly."""
        return self._done * self.improvement(t, taken)

    def improvement(self, t: int, taken: Taken) -> float:
        """Of the model that answered and the later ones, the share that accepts who has taken the option."""
        return self._models.share(taken.model, {**taken.features, **taken.targets})

    def cost(self, t: int, taken: Taken) -> float:
        """The cost of the option."""
        return taken.cost


def _spec(program: str, choice: str, promise: PromiseTerms, margin: float | None) -> ProgramSpec:
    policy = Policy(objective="cost", choice=choice, options=OPTIONS, margin=margin, window=Window(time=WINDOW))
    loan = load_program_spec(SPEC).spec
    # Who comes back late is still remembered, so that every outcome has a fate at once.
    return msgspec.structs.replace(
        loan, program=program, policy=policy, promise=promise, retention=Retention(closed=REMEMBERED)
    )


def _write_sample(path: Path, spec: ProgramSpec, seed: int, hardship: float) -> None:
    """Write labelled people as a data file."""
    table = Population(seed=seed, hardship=hardship).table(spec)
    with path.open("w", newline="", encoding="utf-8") as stream:
        writer = csv.DictWriter(stream, [*table.rows[0], spec.label.name])
        writer.writeheader()
        for row, label in zip(table.rows, table.labels.tolist(), strict=True):
            writer.writerow({**row, spec.label.name: label})


def _model_folder(number: int) -> str:
    return f"{NAME}-{number}" if number else MODEL_FOLDER

"""The world of retrained models: people carry out what was asked of them while the model is trained again, twice.

Two programs serve the same people with the same models. One promises that its options survive a retrained model, the
other suggests what the model of the day accepts.

programs/retrained-robust/spec.yaml, model/, retrained-1/, retrained-2/
programs/retrained-plain/...
"""

from __future__ import annotations

import csv
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from functools import cached_property
from pathlib import Path
from tempfile import TemporaryDirectory

import msgspec
import numpy as np
from numpy.typing import NDArray

from ....environments.population import SPEC, Population
from ....environments.retrained import Offer, Settings, World
from ....environments.rounds import Scoreboard
from ....schemas.events import Value
from ....schemas.spec import Policy, ProgramSpec, PromiseTerms, Retention, Window
from ...errors import UsageError
from ...programs.bundle.loader import ModelBundle
from ...programs.bundle.writer import copy_bundle
from ...programs.program import Program, assemble
from ...programs.spec_check import load_program_spec
from ...programs.training.train import EstimatorName, train
from ...settings import WorldSettings
from ...simulation.promise_stats import ReturnsSummary, TurnedAway
from ...simulation.retraining import NewModel, RetrainedSimulation, SimulatedWorld, Taken
from .program_folders import MODEL_FOLDER, SPEC_FILE, write_spec
from .worlds import check_policies

NAME = "retrained"
ROBUST, PLAIN = f"{NAME}-robust", f"{NAME}-plain"
CHOICES = ("protoar",)
"""It suggests the cheapest options, and learns nothing: the two programs differ in their promise alone."""
PEOPLE = 300
"""Newcomers of each program."""
WINDOW, REMEMBERED = timedelta(days=90), timedelta(days=365)
OPTIONS = 3
PROMISE = PromiseTerms(kind="ellipsoid", valid_for=WINDOW)
ESTIMATOR: EstimatorName = "logistic_regression"

HARDSHIP = (0.0, 0.15, 0.3)
"""What is taken from everybody's strength in the people that each model is trained on."""
SEEDS = 1_000_000_001
"""Keeps the seeds of populations apart: that of sample k is the world's seed + k times this. The newcomers are of the
sample after the last that a model is trained on."""
POOL = 4000
"""People among whom the newcomers are drawn."""
TICK_SECONDS = 0.0
"""Workers must not tell the clock's time: the days of the world are in the past."""

Features = Mapping[str, Value]


@dataclass(frozen=True)
class RetrainedWorld:
    """Two programs, ``robust`` and ``plain``, and all that happens to their people.

    ``scoreboards`` have the same keys; ``programs`` are the names of the programs.
    """

    settings: Settings
    simulation: RetrainedSimulation
    scoreboards: Mapping[str, Scoreboard]
    programs: Mapping[str, str]

    @property
    def days(self) -> int:
        """The days that have begun."""
        return self.simulation.days

    @property
    def returns(self) -> Sequence[ReturnsSummary]:
        """Those who did what was asked, by program and model."""
        return self.simulation.returns

    @property
    def turned_away(self) -> TurnedAway:
        """The share of them that was rejected."""
        return TurnedAway(**{name: _share(self.returns, program) for name, program in self.programs.items()})


def write_retrained(settings: WorldSettings, folder: Path) -> Mapping[str, Path]:
    """Train the models and write both programs; return the spec files by program.

    Raises ``UsageError`` when a folder exists already or cannot be written, and for more than one policy.
    """
    choices = settings.policies if "policies" in settings.model_fields_set else CHOICES
    check_policies(choices)
    if len(choices) > 1:
        raise UsageError(f"--policies {','.join(choices)}: name one choice, for both programs of --world {NAME}")
    robust, plain = _spec(ROBUST, choices[0], PROMISE, None), _spec(PLAIN, choices[0], PromiseTerms(), 0.0)
    specs: dict[str, Path] = {}
    for spec in (robust, plain):
        _new_folder(folder / spec.program)
        specs[spec.program] = write_spec(folder / spec.program / SPEC_FILE, spec)
    loaded = load_program_spec(specs[ROBUST])
    with TemporaryDirectory(prefix="onward-") as data:
        for number, hardship in enumerate(HARDSHIP):
            sample = Path(data) / f"people-{number}.csv"
            _write_sample(sample, robust, settings.seed + number * SEEDS, hardship)
            output = folder / ROBUST / _model_folder(number)
            train(sample, loaded, output, estimator=ESTIMATOR, seed=settings.seed)
            copy_bundle(output, folder / PLAIN / _model_folder(number), PLAIN)
    return specs


def spec_files(folder: Path) -> Mapping[str, Path]:
    """The spec files that ``write_retrained`` wrote to a folder, by program."""
    return {program: folder / program / SPEC_FILE for program in (ROBUST, PLAIN)}


def build_retrained(
    settings: WorldSettings, specs: Mapping[str, Path], people: int, every: int, prefix: str = ""
) -> RetrainedWorld:
    """The world of the programs that ``write_retrained`` wrote, with this number of newcomers.

    The scoreboards have a point of their curves ``every`` answers, and ``prefix`` is put before all ids.
    """
    rules = Settings()
    worlds: list[SimulatedWorld] = []
    boards: dict[str, Scoreboard] = {}
    newcomers: Sequence[Features] = ()
    for name, path in specs.items():
        models = _Models(assemble(load_program_spec(path)), path.parent)
        newcomers = newcomers or _newcomers(models, settings, people)
        board = boards[name.removeprefix(f"{NAME}-")] = Scoreboard(_Worth(models, rules), every)
        world = World(rules, newcomers, seed=settings.seed)
        worlds.append(SimulatedWorld(name, world, Offer, models.announced(rules), models.approves, board))
    names = dict(zip(boards, specs, strict=True))
    return RetrainedWorld(rules, RetrainedSimulation(worlds, rules.days, prefix), boards, names)


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
        """Whom of these people a model approves, (n,)."""
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
    """What suggestions are worth, for a scoreboard: whether the models to come accept them.

    Of those who get options, ``acts`` times ``complete`` of the settings do all of what they are asked. Nobody can do
    better than to suggest to all of them what every model accepts.
    """

    def __init__(self, models: _Models, rules: Settings) -> None:
        self._models, self._done = models, rules.acts * rules.complete

    def oracle(self, t: int) -> float:  # noqa: ARG002
        """The probability that somebody does all of what they are asked."""
        return self._done

    def expected_reward(self, t: int, taken: Taken) -> float:
        """The probability that they do, and are accepted by one of the models from now on, drawn evenly."""
        return self._done * self.improvement(t, taken)

    def improvement(self, t: int, taken: Taken) -> float:  # noqa: ARG002
        """Of the model that answered and the later ones, the share that accepts who has taken the option."""
        return self._models.share(taken.model, {**taken.features, **taken.targets})

    def cost(self, t: int, taken: Taken) -> float:  # noqa: ARG002
        """The cost of the option."""
        return taken.cost


def _newcomers(models: _Models, settings: WorldSettings, people: int) -> Sequence[Features]:
    """People of whom the first model approves about ``approved_share``."""
    pool = Population(seed=settings.seed + len(HARDSHIP) * SEEDS).table(models.program.spec, POOL).rows
    approved = models.verdicts(0, pool)
    random = np.random.default_rng([settings.seed, len(HARDSHIP)])
    chosen = random.random(people) < settings.approved_share
    groups = [np.flatnonzero(approved == verdict) for verdict in (False, True)]
    drawn = np.where(chosen, random.choice(groups[1], people), random.choice(groups[0], people))
    return [pool[index] for index in drawn.tolist()]


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


def _new_folder(folder: Path) -> None:
    try:
        folder.mkdir(parents=True)
    except FileExistsError:
        raise UsageError(f"{folder}: exists already, name another folder") from None
    except OSError as error:
        raise UsageError(f"{folder}: cannot be written: {error.strerror}") from None


def _share(returns: Sequence[ReturnsSummary], program: str) -> float | None:
    done = sum(one.done for one in returns if one.program == program)
    return sum(one.rejected for one in returns if one.program == program) / done if done else None

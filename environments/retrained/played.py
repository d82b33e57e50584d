"""The world of retrained models, and the two programs that serve it with the same models.

One promises that its options survive a retrained model, the other suggests what the model of the day accepts.

programs/retrained-robust/spec.yaml, model/, retrained-1/, retrained-2/
programs/retrained-plain/...

Beside applications and outcomes new models are announced. That step is done when the model stands in the journal and,
where options were open, all that it means for them has been read. Who comes back has an outcome, for the option that
they took.
"""

from __future__ import annotations

import csv
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from datetime import timedelta
from functools import cached_property
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import ClassVar, NamedTuple

import msgspec
import numpy as np
from msgspec import UNSET, Struct
from numpy.typing import NDArray

from ...schemas.events import Application, Model, Option, PromiseChange, Recourse, Revalidation
from ...schemas.spec import Policy, ProgramSpec, PromiseTerms, Retention, Window
from ...streams.cli.display.words import percentage
from ...streams.errors import UsageError
from ...streams.programs.assembly import assemble
from ...streams.programs.bundle.loader import ModelBundle
from ...streams.programs.bundle.writer import copy_for_program
from ...streams.programs.program import Program
from ...streams.programs.spec_check import load_program_spec
from ...streams.programs.training.train import EstimatorName, train
from ...streams.settings import WorldSettings
from ..figures.recording import PromiseSummary, Recording, Summary
from ..figures.sections import Section, ShownWorld
from ..play.contract import Note, SimulatedWorld
from ..play.days import DayRun, step_of
from ..play.program_folders import MODEL_FOLDER, SPEC_FILE, new_folder, write_spec
from ..play.simulation import Simulation, Steps, is_journaled
from ..population import SPEC, Population
from ..rounds import Scoreboard, Worth
from .people import Features, ReadOption, RetrainedPeople, RetrainedSettings, ReturningApplicant


class TakenOption(NamedTuple):
    """The option that a person takes up: who they are, what they become, its cost, and the model that answered."""

    features: Features
    targets: Features
    cost: float
    model: int


class ReturnsSummary(Struct, frozen=True):
    """Those who came back to a program after they had done what was asked, while one model decided.

    ``model`` is its number from 0, ``done`` counts them, and ``rejected`` those whom it rejected.
    """

    program: str
    model: int
    done: int
    rejected: int


class RetrainedRun(DayRun):
    """One program, its ``people``, and the new ``models`` that it gets, each at the beginning of a day.

    ``approves(model, features)`` is whether a model approves somebody; models are numbered, the program's first is 0.
    ``recorder`` records a ``TakenOption`` for each answer, None for those without options.
    """

    def __init__(
        self,
        program: str,
        people: RetrainedPeople,
        models: Sequence[tuple[int, Model]],
        approves: Callable[[int, Features], bool],
        recorder: Scoreboard,
        total: int,
        prefix: str = "",
    ) -> None:
        self._people, self._models, self._approves, self._recorder = people, models, approves, recorder
        self._model = self._answers = 0
        self._open: Counter[str] = Counter()
        self._done: Counter[int] = Counter()
        self._turned_away: Counter[int] = Counter()
        super().__init__(program, prefix, total)

    @property
    def returns(self) -> Sequence[ReturnsSummary]:
        """The people who did what was asked, by model."""
        numbers = range(len(self._models) + 1)
        return [
            ReturnsSummary(self.program, number, self._done[number], self._turned_away[number]) for number in numbers
        ]

    def receive(self, event: Struct) -> None:
        """Handle an event of the program, or a line of the journal."""
        if isinstance(event, PromiseChange) and event.status == "expired":
            self._open.pop(event.application, None)
        super().receive(event)

    def _today(self) -> Steps:
        for day, model in self._models:
            if day == self.day:
                yield from self._announce(model)
        for arrival in self._people.arrivals(self.day):
            yield from self._arrive(arrival)

    def _announce(self, model: Model) -> Steps:
        effects = _Effects(model.version)
        outgoing = self._outgoing(model, f"model/{self._prefix}{model.version}", self.program)
        yield step_of(outgoing, effects.add if self._open.total() else is_journaled(outgoing.id))
        self._model += 1
        for name in sorted(effects.broken):
            revised, broken = effects.revised.get(name, ()), frozenset(effects.broken[name])
            self._open[name] += len(revised) - len(broken)
            self._people.revise(name.removeprefix(self._prefix), self.day, broken, self._offers(revised))

    def _arrive(self, arrival: ReturningApplicant) -> Steps:
        name, applicant = self._prefix + arrival.application, self._prefix + arrival.applicant
        previous = None if arrival.previous is None else self._prefix + arrival.previous
        event = Application(self.program, name, dict(arrival.features), applicant, previous)
        is_approved = self._approves(self._model, arrival.features)
        options = yield from self._apply(event, is_approved=is_approved)
        if options is not None:
            self._take(arrival, options)
        if previous is not None:
            self._done[self._model] += arrival.is_done
            self._turned_away[self._model] += arrival.is_done and not is_approved
            self._open.pop(previous, None)
            yield self._outcome(previous, is_improved=is_approved, option=arrival.taken)

    def _take(self, arrival: ReturningApplicant, options: Sequence[Option]) -> None:
        self._open[self._prefix + arrival.application] = sum(option.status == "open" for option in options)
        id = self._people.answer(arrival, self.day, self._offers(options))
        taken = [
            TakenOption(arrival.features, _targets(stated), stated.cost, self._model)
            for stated in options
            if stated.id == id
        ]
        self._recorder.record(self._answers, taken[0] if taken else None)
        self._answers += 1

    def _offers(self, options: Sequence[Option]) -> dict[str, ReadOption]:
        """Options by id, as people read them."""
        return {option.id: ReadOption(_targets(option), option.cost) for option in options}


class _Effects:
    """Gathers what a new model means for the open options, until all of it has been read.

    ``broken`` holds the ids of the options that it rejects, and ``revised`` those that stand for them, by application.
    """

    def __init__(self, version: str) -> None:
        self._version = version
        self._whole: Revalidation | None = None
        self.broken: dict[str, tuple[str, ...]] = {}
        self.revised: dict[str, tuple[Option, ...]] = {}

    def add(self, event: Struct) -> bool:
        """Whether the end of the scan, every broken option and every revised recourse have been read."""
        match event:
            case Revalidation(model=self._version):
                self._whole = event
            case PromiseChange(reason="model", options=tuple() as options, model=self._version):
                self.broken[event.application] = options
            case Recourse(is_revision=True, model=self._version):
                self.revised[event.application] = event.options
        whole = self._whole
        return whole is not None and (whole.broken, whole.replaced) == (_count(self.broken), _count(self.revised))


def _count(parts: Mapping[str, Sequence[object]]) -> int:
    return sum(map(len, parts.values()))


def _targets(option: Option) -> Features:
    return option.after


def shown(recording: Recording, runs: Sequence[RetrainedRun], policies: Mapping[str, str]) -> ShownWorld:
    """Those who did what was asked and are turned away, by program and model, and what has become of the promises.

    ``policies`` are by program. A revised recourse promises new options in place of broken ones.
    """
    returns, promises = [summary for run in runs for summary in run.returns], promises_of(recording)
    away = {policy: _share(returns, program) for program, policy in policies.items()}
    numbers = sorted({summary.model for summary in returns})
    rows = [("program", *(f"model {number + 1}" for number in numbers), "all")]
    for program in dict.fromkeys(summary.program for summary in returns):
        returned = [summary for summary in returns if summary.program == program]
        rows.append((program, *(_cell([summary]) for summary in returned), _cell(returned)))
    title, lines = "Turned away, of those who did what was asked", [f"promises: {promises}"]
    data = {"promises": promises, "turned_away": away, "returns": returns, "days": runs[0].days}
    shares = ", ".join(f"{policy} {percentage(share)}" for policy, share in away.items())
    done = Counter[str]()
    for summary in returns:
        done[summary.program] += summary.done
    return ShownWorld(
        runs[0].served,
        f"turned away of those who did what was asked: {shares}, promises: {promises}",
        [Section(title, rows, lines, data=data)],
        [
            f"{program}: of {done[program]} who did what was asked, {percentage(away[policy])} were turned away"
            for program, policy in policies.items()
        ],
    )


def promises_of(recording: Recording) -> PromiseSummary:
    """The promised options, by what has become of them."""
    opened = sum(
        option.status is not UNSET for recourse in recording.events_of(Recourse) for option in recourse.options
    )
    ended = Counter[str]()
    for change in recording.events_of(PromiseChange):
        ended[change.status] += len(change.options) if isinstance(change.options, tuple) else 0
    return PromiseSummary.from_counts(opened, ended)


def _cell(returns: Sequence[ReturnsSummary]) -> str:
    rejected, done = sum(summary.rejected for summary in returns), sum(summary.done for summary in returns)
    return f"{rejected} of {done} ({percentage(rejected / done)})" if done else "-"


def _share(returns: Sequence[ReturnsSummary], program: str) -> float | None:
    returned = [summary for summary in returns if summary.program == program]
    done = sum(summary.done for summary in returned)
    return sum(summary.rejected for summary in returned) / done if done else None


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


class RetrainedWorld(SimulatedWorld):
    """Two programs with the same people and models. ``people`` are the newcomers of each."""

    name: ClassVar[str] = NAME
    in_words: ClassVar[str] = "a model that is trained again while people do what was asked"
    # It suggests the cheapest options and learns nothing: the programs differ in their promise alone.
    default_policies: ClassVar[tuple[str, ...] | None] = ("protoar",)
    default_people: ClassVar[int | None] = 300
    announces_models: ClassVar[bool] = True
    programs: ClassVar[tuple[str, ...]] = (ROBUST, PLAIN)
    tick_seconds: ClassVar[float | None] = 0.0  # the days of the world are in the past
    reads_journal: ClassVar[bool] = True

    def __init__(self, settings: WorldSettings, note: Note) -> None:
        super().__init__(settings, note)
        if len(self.policies) > 1:
            names = ",".join(self.policies)
            raise UsageError(f"--policies {names}: name one choice, for both programs of --world {NAME}")
        if not self.people:
            raise UsageError("--people 0: a world with retrained models ends, give a number of newcomers")
        self.rules = RetrainedSettings()
        self._models: dict[str, _Models] = {}
        self.facts = {"newcomers per program": f"{self.people:,}", "days": f"{self.rules.days:,}"}
        self.serves = f"{self.rules.days:,} days"

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
                copy_for_program(output, folder / PLAIN / _model_folder(number), PLAIN)
        return specs

    def scoreboards(self, specs: Mapping[str, Path], every: int) -> Mapping[str, Scoreboard]:
        """By what the models to come say of suggestions."""
        self._models = {name: _Models(assemble(load_program_spec(path)), path.parent) for name, path in specs.items()}
        return {name: Scoreboard(_Worth(models, self.rules), every) for name, models in self._models.items()}

    def play(self, specs: Mapping[str, Path], scoreboards: Mapping[str, Scoreboard], prefix: str = "") -> Simulation:
        """The same newcomers in both programs."""
        newcomers = self._newcomers(next(iter(self._models.values())))
        self._runs = [
            RetrainedRun(
                program,
                RetrainedPeople(self.rules, newcomers, seed=self.settings.seed),
                models.announced(self.rules),
                models.approves,
                scoreboards[program],
                self.rules.days,
                prefix,
            )
            for program, models in self._models.items()
        ]
        return Simulation(self._runs)

    def show(self, recording: Recording, summary: Summary) -> ShownWorld:
        """Those turned away, and the promises."""
        return shown(recording, self._runs, {name: self.policy_of(name) for name in self._models})

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

    def announced(self, rules: RetrainedSettings) -> list[tuple[int, Model]]:
        """The models after the first, and the days on which they are announced."""
        name, later = self.program.spec.program, enumerate(self.bundles[1:], 1)
        return [
            (day, Model(name, bundle.version, str(self._manifest(number)), bundle.manifest_sha256))
            for day, (number, bundle) in zip(rules.retrained_on, later, strict=True)
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

    def __init__(self, models: _Models, rules: RetrainedSettings) -> None:
        self._models, self._done = models, rules.acts * rules.complete

    def oracle(self, t: int) -> float:
        """The probability that somebody does all of what they are asked."""
        return self._done

    def worth(self, t: int, taken: TakenOption) -> Worth:
        """By the share of the model that answered and the later ones that accepts who has taken the option."""
        accepted = self._models.share(taken.model, {**taken.features, **taken.targets})
        return Worth(self._done * accepted, accepted, taken.cost)


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

"""The world of limited places, as it is played: the programs that serve it, its rounds, and what is shown of them.

A run receives its own events too, as they are read from their topics. In each round

1. outcomes and applications are published;
2. when all of them have been read from their topics, the end of the round is announced: the present event time;
3. when everybody has a decision and everybody rejected an answer, the world takes them, and the next round begins.

So the members of a round, and with them all places and promises, do not depend on the speed of anything.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import ClassVar, cast

import numpy as np
from msgspec import Struct

from ...agents.goals import ThresholdGoal
from ...agents.reached import reaches_score
from ...schemas.events import (
    APPLY_AGAIN,
    Application,
    ModelDecision,
    NoRecourse,
    Outcome,
    PromiseChange,
    Recourse,
    Round,
    Threshold,
)
from ...schemas.spec import Capacity, Feature, Label, ModelReference, Policy, ProgramSpec, Window
from ...streams.cli.display.words import percentage
from ...streams.programs.assembly import assemble
from ...streams.programs.bundle.writer import write_bundle
from ...streams.programs.models.scoring import score_of_options
from ...streams.programs.spec_check import load_program_spec
from ...streams.settings import WorldSettings
from ..figures.recording import PromiseSummary, Recording, Summary
from ..figures.sections import Plot, PlotLine, RunProgress, Section, ShownWorld
from ..play.contract import Note, SimulatedWorld
from ..play.program_folders import MODEL_FOLDER, REFERENCE_PEOPLE, SPEC_FILE, program_name, write_spec
from ..play.simulation import OutgoingEvent, Run, Simulation, SimulationStep, Steps
from ..rounds import Scoreboard
from .rules import CompetitionRules
from .season import Advice, Applicant, Episode, feature_names, mean_of_rounds
from .world import draw_world


class SeasonRun(Run):
    """The season that one program serves; ``recorder`` records what people take up.

    ``prefix`` is put before every application's and applicant's id. No round is opened once the ``limit`` of
    ``next_events`` is reached.
    """

    def __init__(self, program: str, season: Episode, recorder: Scoreboard, prefix: str = "") -> None:
        super().__init__(program, prefix)
        self._season, self._recorder = season, recorder
        self._recorded = 0
        self._members: list[str] = []
        # Ids of events that were published and not read yet.
        self._unread: set[str] = set()
        self._decided: dict[str, bool] = {}
        self._answers: dict[str, Recourse | NoRecourse] = {}
        self.play(self._rounds())

    def _rounds(self) -> Steps:
        for number in range(self._season.rounds):
            id = f"{self.program}/{self._prefix}round/{number}"
            yield SimulationStep(id, self._open, lambda _: not self._unread, applies=True)
            yield SimulationStep(id, self._announce, lambda _: all(map(self._is_answered, self._members)))
            self._close()

    def receive(self, event: Struct) -> None:
        """Note what was read of the program's events."""
        match event:
            case Application() | Outcome():
                self._unread.discard(self._id(event))
            case ModelDecision():
                self._decided[event.application] = event.approved
            case Recourse() | NoRecourse():
                self._answers[event.application] = event
        super().receive(event)

    def on_dead_letter(self, ids: set[str]) -> bool:
        """Whether it is of an event of this run."""
        return any(id.startswith(f"{self.program}/{self._prefix}") for id in ids)

    def _id(self, event: Application | Outcome) -> str:
        kind = "application" if isinstance(event, Application) else "outcome"
        return f"{self.program}/{event.application}/{kind}"

    def _open(self) -> Iterator[OutgoingEvent]:
        arrivals, self._unread = self._season.open(), set()
        self._members = [self._prefix + arrival.application for arrival in arrivals]
        for arrival in arrivals:
            for event in self._events(arrival):
                self._unread.add(self._id(event))
                # Outcomes of one program have one key: their order is the same in every run.
                key = event.application if isinstance(event, Application) else self.program
                yield OutgoingEvent(event, self._id(event), key.encode(), self._now_ms)

    def _events(self, arrival: Applicant) -> Iterator[Application | Outcome]:
        previous = None if arrival.previous is None else self._prefix + arrival.previous
        if previous is not None and arrival.taken is not None:
            yield Outcome(self.program, previous, "improved" if arrival.reached else "not_improved", arrival.taken)
        name, applicant = self._prefix + arrival.application, self._prefix + arrival.applicant
        yield Application(self.program, name, dict(arrival.features), applicant, previous)

    def _announce(self) -> Iterator[OutgoingEvent]:
        end_ms, self._now_ms = self._now_ms, self._now_ms + 1
        event = Round(self.program, datetime.fromtimestamp(end_ms / 1000, UTC), self._season.places)
        yield OutgoingEvent(event, self.awaited or "", self.program.encode(), end_ms)

    def _is_answered(self, name: str) -> bool:
        return name in self._decided and (self._decided[name] or name in self._answers)

    def _close(self) -> None:
        start = len(self._prefix)
        accepted = {name[start:] for name in self._members if self._decided[name]}
        rejected = {name: self._answers[name] for name in self._members if not self._decided[name]}
        answers = {name[start:]: _read(answer) for name, answer in rejected.items()}
        for taken in self._season.close(accepted, answers):
            self._recorder.record(self._recorded, taken)
            self._recorded += 1
        self._members, self._decided, self._answers = [], {}, {}


def _read(answer: Recourse | NoRecourse) -> Advice:
    """The recourse as a person reads it: the score to reach, and by option the new values by feature."""
    goal = answer.target_score if isinstance(answer.target_score, float) else None
    if isinstance(answer, NoRecourse):
        return Advice(goal if answer.reason == APPLY_AGAIN else None)
    return Advice(
        goal,
        {option.id: {change.feature: float(change.target) for change in option.changes} for option in answer.options},
    )


SHOWN = 8
"""The rounds that are shown: the last ones."""
COLUMNS = ("round", "applied", "back", "reached", "placed", "threshold", "goal", "coverage")


def shown(recording: Recording, total: int, seasons: Sequence[Episode] = ()) -> ShownWorld:
    """Rounds, coverage and promises as they were read. ``total`` is the number of rounds of all programs.

    Coverage is the share of those who came back with their promised score that got a place. ``feasibility`` is RF, the
    share of the rejected who come back with the score that they were told: the mean of the rounds.
    """
    rounds = sorted(recording.events_of(Threshold), key=lambda closed: (closed.round, closed.program))
    feasibility = mean_of_rounds([outcome.feasibility for season in seasons for outcome in season.outcomes])
    served = RunProgress(len(rounds), total, f"{len(rounds):,} of {total:,} rounds closed")
    if not rounds:
        return ShownWorld(served, "", [Section("", data={"feasibility": feasibility})])
    last, promises = rounds[-SHOWN:], promises_of(recording)
    nominal, achieved = rounds[-1].coverage.nominal, _achieved(recording)
    coverage = f"{percentage(achieved)} (nominal {percentage(nominal)})"
    lines = [f"coverage {coverage}", f"promises: {promises}"]
    if feasibility is not None:
        lines.append(f"{percentage(feasibility)} of the rejected came back with the score they were told")
    lines += [f"drift in round {closed.round}: {', '.join(closed.drift)}" for closed in last if closed.drift]
    data = {
        "coverage": {"nominal": nominal, "achieved": achieved, "rounds": len(rounds)},
        "promises": promises,
        "feasibility": feasibility,
        "last_rounds": last,
    }
    by_program = {
        name: [closed for closed in rounds if closed.program == name] for name in sorted({o.program for o in rounds})
    }
    section = Section("Rounds and promises", _rows(last), lines, [_goals(by_program), _coverages(by_program)], data)
    line = f"threshold {last[-1].threshold:.3f}, next goal {_goal(last[-1])}, coverage {coverage}, promises: {promises}"
    return ShownWorld(served, line, [section])


def promises_of(recording: Recording) -> PromiseSummary:
    """The promised scores, by what has become of them."""
    made = sum(isinstance(recourse.target_score, float) for recourse in recording.events_of(Recourse))
    made += sum(answer.reason == APPLY_AGAIN for answer in recording.events_of(NoRecourse))
    return PromiseSummary.from_counts(made, Counter(promise.status for promise in _settled(recording)))


def _settled(recording: Recording) -> Sequence[PromiseChange]:
    return [promise for promise in recording.events_of(PromiseChange) if isinstance(promise.target_score, float)]


def _achieved(recording: Recording) -> float | None:
    # A promise may be kept without the promised score, where places are left.
    reached = [
        promise.status == "kept"
        for promise in _settled(recording)
        if promise.score is not None and reaches_score(promise.score, cast(float, promise.target_score))
    ]
    return sum(reached) / len(reached) if reached else None


def _rows(last: Sequence[Threshold]) -> Sequence[Sequence[str]]:
    several = len({closed.program for closed in last}) > 1
    head = (*COLUMNS, *(["program"] if several else []))
    return [head, *((*_row(closed), *([closed.program] if several else [])) for closed in last)]


def _goals(by_program: Mapping[str, Sequence[Threshold]]) -> Plot:
    lines = []
    for group, (name, closed) in enumerate(by_program.items()):
        numbers = [closed_round.round for closed_round in closed]
        goals = [float("nan") if closed_round.goal is None else closed_round.goal for closed_round in closed]
        lines.append(
            PlotLine(f"{name}: threshold", numbers, [closed_round.threshold for closed_round in closed], group)
        )
        lines.append(PlotLine(f"{name}: goal", numbers, goals, group, dotted=True))
    return Plot("threshold and goal for the next rounds", lines, "round", highest=1.0)


def _coverages(by_program: Mapping[str, Sequence[Threshold]]) -> Plot:
    lines = []
    for group, (name, closed) in enumerate(by_program.items()):
        known = [
            (closed_round.round, closed_round.coverage.achieved)
            for closed_round in closed
            if closed_round.coverage.achieved is not None
        ]
        lines.append(PlotLine(name, [number for number, _ in known], [achieved for _, achieved in known], group))
    last = max(
        (closed[-1] for closed in by_program.values()),
        key=lambda closed_round: (closed_round.round, closed_round.program),
    )
    lines.append(PlotLine("nominal", [0, last.round], [last.coverage.nominal] * 2))
    return Plot("coverage so far", lines, "round", highest=1.02)


def _row(closed: Threshold) -> tuple[str, ...]:
    counts = (closed.round, closed.applicants, closed.returned, closed.reached, closed.accepted)
    coverage = percentage(closed.coverage.achieved)
    return (*(f"{count:,}" for count in counts), f"{closed.threshold:.3f}", _goal(closed), coverage)


def _goal(closed: Threshold) -> str:
    return "-" if closed.goal is None else f"{closed.goal:.3f}"


DECIMALS, STEP = 3, 0.001
"""How people state their features, and the smallest change."""
LATENESS = timedelta(seconds=0.5)
"""So long after its end a round is closed: the worker reads its last applications meanwhile."""
WINDOW = timedelta(minutes=1)


class CompetitionWorld(SimulatedWorld):
    """A drawn world, and a season in it for each choice."""

    name: ClassVar[str] = "competition"
    in_words: ClassVar[str] = "rounds with limited places"
    default_policies: ClassVar[tuple[str, ...] | None] = ("protoar",)  # the most probable plan, as in the paper
    tick_seconds: ClassVar[float | None] = 0.1  # rounds are closed by ticks
    # A round ends when all of its own applications and outcomes are on their topics.
    reads: ClassVar[tuple[str, ...]] = ("application", "outcome")

    def __init__(self, settings: WorldSettings, note: Note) -> None:
        super().__init__(settings, note)
        note("drawing the world and its model ...")
        self.world = replace(draw_world(settings.seed), decimals=DECIMALS)
        self.rules = CompetitionRules(horizon=settings.horizon)
        self.choices = {program_name(self.name, choice): choice for choice in self.policies}
        self.seasons = {
            program: Episode(self.world, self.rules, rounds=settings.rounds, seed=settings.seed)
            for program in self.choices
        }
        self.total = settings.rounds * len(self.seasons)
        self.facts = {"places in a round": str(self.rules.places), "rounds": f"{settings.rounds:,}"}
        self.serves = f"{self.total:,} rounds"

    def write(self, folder: Path) -> Mapping[str, Path]:
        """One program for each choice, all with the world's own model."""
        rows = self.world.people(np.random.default_rng(self.world.coef.size), (REFERENCE_PEOPLE,))
        names = feature_names(self.world)
        reference = [dict(zip(names, row, strict=True)) for row in rows.tolist()]
        specs: dict[str, Path] = {}
        for program, choice in self.choices.items():
            spec = self._spec(program, choice)
            write_bundle(
                folder / program / MODEL_FOLDER,
                spec,
                tuple(names),
                version="world-1",
                estimator=self.world.estimator,
                instances=reference[:1],
                reference=reference,
            )
            specs[program] = write_spec(folder / program / SPEC_FILE, spec)
        return specs

    def _spec(self, program: str, choice: str) -> ProgramSpec:
        rules, names = self.rules, feature_names(self.world)
        return ProgramSpec(
            program=program,
            features=tuple([Feature(name, "continuous", bounds=(0.0, 1.0), step=STEP) for name in names]),
            label=Label("placed"),
            model=ModelReference(f"{MODEL_FOLDER}/manifest.json", threshold=0.0),
            policy=Policy(
                objective="cost",
                choice=choice,
                generator="maximal_success",
                goal="capacity",
                options=1,
                window=Window(time=WINDOW, lateness=LATENESS),
            ),
            capacity=Capacity(
                places=rules.places, horizon=rules.horizon, coverage=self.settings.coverage, beta=rules.beta
            ),
            candidates=1,
        )

    def warm_up(self, specs: Mapping[str, Path]) -> None:
        """Make an option, which compiles the planner: the first time takes many seconds."""
        self.note("compiling the planner, once ...")
        program = assemble(load_program_spec(next(iter(specs.values()))))
        score, row = program.bundle.model.score, np.full((1, len(program.spec.features)), 0.3)
        goal = ThresholdGoal(float(score(row)[0]) * 0.5 + 0.5)
        planner = program.generator.with_difficulty(np.full(row.shape[1], 0.5), 0.05)
        planner.under(score_of_options(score), goal).propose(row)

    def scoreboards(self, specs: Mapping[str, Path], every: int) -> Mapping[str, Scoreboard]:
        """By the seasons."""
        return {program: Scoreboard(self.seasons[program], every) for program in specs}

    def play(self, specs: Mapping[str, Path], scoreboards: Mapping[str, Scoreboard], prefix: str = "") -> Simulation:
        """Each program its season, once."""
        return Simulation(SeasonRun(program, self.seasons[program], scoreboards[program], prefix) for program in specs)

    def show(self, recording: Recording, summary: Summary) -> ShownWorld:
        """Thresholds, goals, coverage and promises."""
        return shown(recording, self.total, list(self.seasons.values()))

"""ARLIM's experiments: which method improves people most when outcomes come late or never.

Every method serves the same worlds with the same draws. Worlds are made of the files credit.csv, diabetes.csv and
compas.csv of --data, or of generated people without it. A method is a choice by its name, with parameters as in
linucb@regularisation=30@delta=0.1. Beside the results stand the reference rows where the shared data has them.
"""

from __future__ import annotations

import signal
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from rich.table import Table

from onward.benchmarks import face
from onward.benchmarks.face import Row, progress
from onward.benchmarks.improvement.aims import aim
from onward.benchmarks.improvement.experiments import EXPERIMENTS, Experiment
from onward.benchmarks.improvement.figures import draw
from onward.benchmarks.improvement.methods import IGNORES_EXECUTION, TUNED, methods
from onward.benchmarks.improvement.plan import Plan, Task
from onward.benchmarks.improvement.player import Terms, play_all, player
from onward.benchmarks.improvement.reference import ROUNDS, Reference, load_reference
from onward.benchmarks.improvement.results import Place, Results, title
from onward.benchmarks.improvement.scores import Score
from onward.benchmarks.improvement.studied_world import Classifier
from onward.benchmarks.improvement.tables import WIDTH, full_tables, sweep_tables
from onward.streams.errors import UsageError

ALL = "all"
INTERRUPTED = 128 + signal.SIGINT

UNITS = {"mer": "", "regret": "", "improvement": "", "cost": "", "us": "us CPU"}
HIGHER = ("mer", "improvement")


@dataclass(frozen=True, kw_only=True)
class Args(face.Args):
    """The command line."""

    methods: tuple[str, ...] = field(
        default=(), metadata={"help": f"methods to compare (default: all choices, and {TUNED})"}
    )
    datasets: tuple[str, ...] = field(default=(), metadata={"help": "data sets of --data (default: all three)"})
    classifier: Classifier = field(default="rf", metadata={"help": "random forest, or network of two layers"})
    noise: tuple[float, ...] = field(
        default=(0.0, 0.25), metadata={"help": "noise on the execution probability", "metavar": "X,Y"}
    )
    experiments: tuple[str, ...] = field(
        default=("main",), metadata={"help": f"some of {', '.join(EXPERIMENTS)}, or {ALL}"}
    )
    rounds: int = field(default=ROUNDS, metadata={"quick": 300, "help": "people served in a world", "metavar": "T"})
    slow_seeds: int = field(
        default=2, metadata={"help": f"most seeds of {' and '.join(sorted(IGNORES_EXECUTION))} in sweeps"}
    )
    jobs: int = field(default=1, metadata={"help": "processes side by side", "metavar": "N"})
    as_told: bool = field(
        default=False, metadata={"help": "a success does not reveal the execution probability without noise"}
    )
    figures: Path | None = field(default=None, metadata={"help": "draw the figures into this folder", "metavar": "DIR"})


@dataclass
class Benchmark:
    """One run: the results so far, for the rows, the tables and the figures."""

    reference: Reference = field(default_factory=lambda: Reference({}))
    classifier: Classifier = "rf"
    rounds: int = ROUNDS
    results: dict[str, Results] = field(default_factory=dict)
    interrupted: bool = False

    def measure(self, args: Args) -> Iterator[Row]:
        """Play everything, draw the figures, and give the rows."""
        _check(args)
        self.classifier, self.rounds = args.classifier, args.rounds
        if args.rounds == ROUNDS:
            self.reference = load_reference()
        chosen = {name: EXPERIMENTS[name] for name in _experiments(args.experiments)}
        plan = Plan(methods(args.methods), args.seeds, dict.fromkeys(IGNORES_EXECUTION, args.slow_seeds))
        _say_who_is_left_out(plan, chosen)
        self.results = {name: Results(one, one.trials(args.noise)) for name, one in chosen.items()}
        try:
            self._play(plan, Terms(args.data, args.datasets, args.classifier, args.rounds, not args.as_told), args.jobs)
        except KeyboardInterrupt:
            self.interrupted = True
            progress("interrupted: what follows is what was finished")
        if args.figures is not None:
            for path in draw(args.figures, self.results, self.reference, args.classifier):
                progress(f"drawn: {path}")
        for name, results in self.results.items():
            yield from self._rows(name, results)

    def show(self, _: Sequence[Row]) -> Iterator[Table]:
        """The tables: full ones where all metrics matter, and one of rewards and regrets where something is varied."""
        for name, results in self.results.items():
            if name in ("main", "mixture", "delays"):
                known = self.reference if name == "main" else None
                yield from full_tables(results, known, self.classifier)
            else:
                yield from sweep_tables(results)

    def _play(self, plan: Plan, terms: Terms, jobs: int) -> None:
        titles = player(terms).titles
        trials = {name: (results.experiment, results.trials) for name, results in self.results.items()}
        tasks = list(plan.tasks(list(titles), trials))
        for number, (task, scores) in enumerate(play_all(terms, tasks, jobs), 1):
            for ask, score in zip(task.asked, scores, strict=True):
                self.results[ask.experiment].record(titles[task.data], task.seed, ask, score)
            for line in self._lines(task, scores):
                progress(f"{number}/{len(tasks)} {titles[task.data]} seed {task.seed}, {line}")

    def _lines(self, task: Task, scores: Sequence[Score]) -> Iterator[str]:
        """One for each experiment and method of a task."""
        said: dict[tuple[str, str], list[str]] = {}
        for ask, score in zip(task.asked, scores, strict=True):
            varied = f"{EXPERIMENTS[ask.experiment].varied} {ask.trial.label}"
            said.setdefault((ask.experiment, title(ask)), []).append(f"{score.mer:.3f} ({varied})")
        return (f"{method}, {name}: {', '.join(texts)}" for (name, method), texts in said.items())

    def _rows(self, name: str, results: Results) -> Iterator[Row]:
        noises = {trial.label: trial.noise for trial in results.trials}
        for place in results.scores:
            noise, method = noises[place.trial], results.methods[place.method]
            held = (name, self.classifier, self.rounds) == ("main", "rf", ROUNDS)
            known = self._known(results, place, noise) if name == "main" else {}
            for metric, unit in UNITS.items():
                title = f"{results.experiment.title}: {place.data}, {results.experiment.varied} {place.trial}"
                yield Row(
                    f"{title}: {place.method}, {metric}",
                    results.spread(place, metric).mean,
                    unit,
                    reference=known.get(metric),
                    aim=aim(method, place.data, noise, metric) if held else None,
                    better="higher" if metric in HIGHER else "lower",
                    by_seed=results.by_seed(place, metric),
                )

    def _known(self, results: Results, place: Place, noise: float) -> dict[str, float]:
        """The reference of each metric: the row that comes last is the one most like ours."""
        method, seeds = results.methods[place.method], results.seeds(place)
        rows = self.reference.cite(place.data, self.classifier, noise, method, seeds)
        return {metric: one.mean for row in rows for metric, one in row.metrics.items()}


def _check(args: Args) -> None:
    least_of = (("--rounds", args.rounds, 1), ("--slow-seeds", args.slow_seeds, 0), ("--jobs", args.jobs, 1))
    for flag, value, least in least_of:
        if value < least:
            raise UsageError(f"{flag} {value}: give a number from {least}")


def _experiments(wanted: Sequence[str]) -> Sequence[str]:
    if ALL in wanted:
        return tuple(EXPERIMENTS)
    for name in wanted:
        if name not in EXPERIMENTS:
            raise UsageError(f"--experiments: there is no {name!r}, use some of {','.join(EXPERIMENTS)}, or {ALL}")
    return tuple(dict.fromkeys(wanted))


def _say_who_is_left_out(plan: Plan, chosen: dict[str, Experiment]) -> None:
    for name, experiment in chosen.items():
        for method in plan.methods:
            own = plan.seeds_of(method, experiment)
            if len(own) < len(plan.seeds):
                progress(f"{name}: {method.title} plays {len(own)} of {len(plan.seeds)} seeds")


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    benchmark = Benchmark()
    code = face.run(Args, benchmark.measure, show=benchmark.show, width=WIDTH)
    sys.exit(INTERRUPTED if benchmark.interrupted else code)

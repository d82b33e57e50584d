"""What learners reach in worlds with a known truth, by the generator of the options: mean expected reward beside the
oracle's, true improvement of those served, changes, and the share of people without an option.

The program's model is trained on data alone. `protoar` suggests the cheapest option; `evenly` draws one.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import product
from typing import Literal, NamedTuple

import numpy as np
from rich.table import Table

from onward.benchmarks import face
from onward.benchmarks.face import Row, progress
from onward.benchmarks.real import table as real
from onward.benchmarks.real.settings import SETTINGS
from onward.benchmarks.truth import asked, instances, shards
from onward.benchmarks.truth.aims import AUTO, PROMISES, Aim, Aims
from onward.benchmarks.truth.baselines import METHODS
from onward.benchmarks.truth.conditions import StudiedConditions
from onward.benchmarks.truth.improvement import Figure, Trials, figures
from onward.benchmarks.truth.instances import worlds_of
from onward.benchmarks.truth.play import GENERATORS, WINDOW, Game, Played, offer, play
from onward.benchmarks.truth.settings import NAMES, available, setting
from onward.environments.truth import TruthWorld
from onward.streams.errors import OnwardError, UsageError

SHOWN = ("protoar", "evenly", "thompson", "posterior", "residual", "linucb")
METRICS = ("mer", "of the oracle's", "improvement", "changes", "none")
PARTS = ("choices", "improvement", "shards", "asked", "instances", "real")
SEPARATOR = "; "
MARGIN = re.compile(r"0?\.\d+|0")
NO_MARGIN = ("0", "0.0")


@dataclass(frozen=True, kw_only=True)
class Args(face.Args):
    """The command line."""

    worlds: tuple[str, ...] = field(default=NAMES, metadata={"help": "worlds; those without a file are left out"})
    generators: tuple[str, ...] = field(default=(), metadata={"help": "generators (default: all)"})
    methods: tuple[str, ...] = field(default=SHOWN, metadata={"help": "choices and baselines"})
    model: Literal["forest", "logistic"] = field(default="forest", metadata={"help": "the program's model"})
    people: int = field(default=1000, metadata={"quick": 150, "help": "rejected people of each world"})
    rows: int = field(default=8000, metadata={"quick": 1500, "help": "most rows of a data set"})
    options: int = field(default=1, metadata={"help": "most options of a recourse"})
    margins: tuple[str, ...] = field(
        default=("0",),
        metadata={"help": "how far above the threshold options score; auto: as training measures, or a promise's name"},
    )
    inert: tuple[float, ...] = field(default=(0.0,), metadata={"help": "shares of features without an effect"})
    parts: tuple[str, ...] = field(
        default=("choices",),
        metadata={
            "help": "choices: learners; improvement: options that are to help; shards: what several "
            "learners lose; asked: plans after a few questions; "
            "instances: learners with recourse instances; "
            "real: what real data are like, which needs no file"
        },
    )
    settings: tuple[str, ...] = field(
        default=tuple(SETTINGS),
        metadata={"quick": ("plain", "late"), "metavar": "A,B", "help": "those of the part real"},
    )
    drift: tuple[float, ...] = field(default=(0.0,), metadata={"help": "shares that lose theirs at half-time"})


class Trial(NamedTuple):
    """What is varied within a world."""

    margin: str
    inert: float
    drift: float

    def title(self, world: str, model: str) -> str:
        """The world, its model, and what is not as usual."""
        margin = [] if self.margin in NO_MARGIN else [f"margin {self.margin}"]
        varied = [f"{name} {value:g}" for name, value in (("inert", self.inert), ("drift", self.drift)) if value]
        return ", ".join([world, model, *margin, *varied])


def worlds(args: Args) -> Iterator[Row]:
    """All figures: by world, trial, generator and method; then those of options that are to help."""
    _check(args)
    for name in available(args.worlds, args.data) if "choices" in args.parts else ():
        found: dict[tuple[Trial, str, str], dict[int, Played]] = {}
        for seed in args.seeds:
            for trial, generator, method, played in _played(name, seed, args):
                found.setdefault((trial, generator, method), {})[seed] = played
        for (trial, generator, method), by_seed in found.items():
            yield from _rows(SEPARATOR.join((trial.title(name, args.model), generator, method)), by_seed)

    for name in available(args.worlds, args.data) if "improvement" in args.parts else ():
        yield from _mean_figures(partial(_improvement, name, args), args.seeds)

    for name in available(args.worlds, args.data) if "shards" in args.parts else ():
        yield from _mean_figures(partial(_shards, name, args), args.seeds)

    for name in available(args.worlds, args.data) if "asked" in args.parts else ():
        yield from _mean_figures(partial(_asked, name, args), args.seeds)

    if "instances" in args.parts:
        for of_data in worlds_of(tuple(available(args.worlds, args.data)), args.data, args.people):
            yield from _mean_figures(partial(instances.figures, of_data), args.seeds)

    if "real" in args.parts:
        sizes = real.QUICK if args.quick else (args.people, args.rows)
        yield from real.rows(args.settings, args.seeds, *sizes)


def _improvement(name: str, args: Args, seed: int) -> Iterator[Figure]:
    """What options lead to that are to help in one world."""
    base = setting(name, args.data, args.model, seed, args.rows)
    return figures(Trials(base, args.people, args.model), name)


def _shards(name: str, args: Args, seed: int) -> Iterator[Figure]:
    """What several learners lose in one world."""
    base = setting(name, args.data, args.model, seed, args.rows)
    return shards.figures(Trials(base, args.people, args.model), name)


def _asked(name: str, args: Args, seed: int) -> Iterator[Figure]:
    """What people are told after a few questions in one world."""
    base = setting(name, args.data, args.model, seed, args.rows)
    return asked.figures(Trials(base, args.people, args.model), name)


def _mean_figures(of_seed: Callable[[int], Iterator[Figure]], seeds: Sequence[int]) -> Iterator[Row]:
    found: dict[str, dict[int, Figure]] = {}
    for seed in seeds:
        for figure in of_seed(seed):
            found.setdefault(figure.name, {})[seed] = figure
            progress(f"seed {seed}: {figure.name} {figure.value:.3f}")
    for title, by_seed in found.items():
        values, first = {seed: one.value for seed, one in by_seed.items()}, by_seed[seeds[0]]
        aims = [one.aim for one in by_seed.values() if one.aim is not None]
        aim = float(np.mean(aims)) if aims else None
        mean = float(np.mean(list(values.values())))
        yield Row(title, mean, first.unit, aim=aim, better=first.better, by_seed=values)


def _check(args: Args) -> None:
    for part in args.parts:
        if part not in PARTS:
            raise UsageError(f"--parts: there is no {part!r}, use some of {','.join(PARTS)}")
    for flag, names, known in (("methods", args.methods, METHODS), ("generators", args.generators, GENERATORS)):
        for name in names:
            if name not in known:
                raise UsageError(f"--{flag}: there is no {name!r}, use some of {','.join(known)}")
    for name in args.settings:
        if name not in SETTINGS:
            raise UsageError(f"--settings: there is no {name!r}, use some of {','.join(SETTINGS)}")
    for flag in ("inert", "drift"):
        if max(getattr(args, flag)) >= 1:
            raise UsageError(f"--{flag}: give numbers below 1")
    for margin in args.margins:
        if margin not in (AUTO, *PROMISES) and not MARGIN.fullmatch(margin):
            words = ", ".join((AUTO, *PROMISES))
            raise UsageError(f"--margins: {margin!r} is no number from 0 to below 1, nor one of {words}")


def _played(name: str, seed: int, args: Args) -> Iterator[tuple[Trial, str, str, Played]]:
    """Every play of one world and seed."""
    base = setting(name, args.data, args.model, seed, args.rows)
    for inert, drift in product(args.inert, args.drift):
        world = base.world(args.people, StudiedConditions(inert=inert, drift=drift))
        aims = Aims(world)
        for margin, generator in product(args.margins, args.generators or GENERATORS):
            aim = aims.of(margin, generator)
            game = _game(world, generator, aim)
            if game is None:
                continue
            trial = Trial(margin, inert, drift)
            for method in args.methods:
                learner = METHODS[method](game.offered.arms, WINDOW)
                yield trial, generator, method, play(game, learner, args.options, seed)
            goal = f"above {aim.goal.required:g}"
            progress(f"{trial.title(name, args.model)}, {generator}, {goal}, seed {seed}: played")


def _game(world: TruthWorld, generator: str, aim: Aim) -> Game | None:
    try:
        return Game.of(world, offer(GENERATORS[generator], world, aim))
    except (ValueError, OnwardError) as error:
        progress(f"{generator} is left out: {error}")
        return None


def _rows(name: str, by_seed: dict[int, Played]) -> Iterator[Row]:
    played = {
        seed: (one.mer, _share(one.mer, one.oracle), one.improvement, one.changes, one.none)
        for seed, one in by_seed.items()
    }
    for index, metric in enumerate(METRICS):
        values = {seed: figures[index] for seed, figures in played.items()}
        lower = metric in ("changes", "none")
        yield Row(
            f"{name}{SEPARATOR}{metric}",
            float(np.mean(list(values.values()))),
            "",
            better="lower" if lower else "higher",
            by_seed=values,
        )


def _share(mer: float, oracle: float) -> float:
    return mer / oracle if oracle else float("nan")


def tables(rows: Sequence[Row]) -> Iterable[Table]:
    """A table for each world: a line for each generator and method; means with their standard errors."""
    yield from real.tables([row for row in rows if real.is_real(row)])
    rows = [row for row in rows if not real.is_real(row)]
    lines: dict[str, dict[tuple[str, str], list[str]]] = {}
    helping = Table("options that help", "mean", "aim", title_justify="left", box=None)
    for row in rows:
        if SEPARATOR not in row.name:
            aim = "" if row.aim is None else f"{row.aim:.3f}"
            helping.add_row(row.name, _figure(row), aim if row.reached is not False else f"{aim} missed")
            continue
        title, generator, method, _ = row.name.split(SEPARATOR)
        lines.setdefault(title, {}).setdefault((generator, method), []).append(_figure(row))
    for title, of_world in lines.items():
        table = Table("generator", "choice", *METRICS, title=title, title_justify="left", box=None)
        for names, cells in of_world.items():
            table.add_row(*names, *cells)
        yield table
    if helping.row_count:
        yield helping


def _figure(row: Row) -> str:
    values = list((row.by_seed or {}).values())
    if len(values) < 2:
        return f"{row.value:.3f}"
    return f"{row.value:.3f} ± {np.std(values, ddof=1) / len(values) ** 0.5:.3f}"


if __name__ == "__main__":
    sys.exit(face.run(Args, worlds, show=tables))

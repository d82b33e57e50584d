"""What the generators propose to the same people, with the same model: who gets an option, how many changes, at what
cost, whether a model of other data accepts it, whether it truly improves people, and the processor time of a person.

A table for each data set and model. On grids that are coarse enough, an exhaustive search stands beside; so does DiCE
where it is installed. Aims are printed with the figures.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from onward.agents.candidates import Space, registry
from onward.agents.costs import L1
from onward.agents.objective import Objective
from onward.benchmarks import face
from onward.benchmarks.face import Row, progress
from onward.benchmarks.peers.process import Kind, installed
from onward.benchmarks.recourse.cases import DATA_SETS, MODELS, POPULATION, Case, case_of, options_of, sources
from onward.benchmarks.recourse.cpu import cpu_of_drafts
from onward.benchmarks.recourse.curve import Point, curve, draw
from onward.benchmarks.recourse.effects import cpu_of_effects
from onward.benchmarks.recourse.figures import figures, tables
from onward.benchmarks.recourse.optimum import beside_the_optimum, sweep
from onward.benchmarks.recourse.peers import PEERS, beside_peers
from onward.benchmarks.recourse.speed import speed
from onward.streams.cli.flags.output_paths import check_file
from onward.streams.errors import UsageError
from onward.streams.programs.space import space_of
from onward.streams.programs.training.margin import smallest_margin
from onward.streams.programs.training.unsaved_program import UnsavedProgram

WIDTH = 170
GENERATORS = ("adapted", "instances", "linear", "search")
"""Those for any program. Recommenders, for limited places, have a benchmark of their own."""
WITH_A_MARGIN = ("search", "adapted")


@dataclass(frozen=True, kw_only=True)
class Args(face.Args):
    """The command line."""

    people: int = field(default=100, metadata={"quick": 10, "help": "rejected people of each model"})
    exhaustive_people: int = field(default=20, metadata={"quick": 3, "help": "of these, searched exhaustively"})
    swept: tuple[str, ...] = field(
        default=(POPULATION, "credit", "german"),
        metadata={"quick": (POPULATION,), "help": "data searched in many specs"},
    )
    sweep_people: int = field(default=4, metadata={"quick": 1, "help": "people searched exhaustively in each of them"})
    most_immutable: int = field(default=6, metadata={"quick": 1, "help": "the most immutable features of these specs"})
    timed: str = field(default="credit", metadata={"quick": POPULATION, "help": "data of the table of CPU times"})
    dice: tuple[str, ...] = field(default=(POPULATION, "german"), metadata={"help": "data given to DiCE"})
    dice_people: int = field(default=5, metadata={"quick": 2, "help": "people given to DiCE; 0 leaves it out"})
    patience_seconds: float = field(default=10.0, metadata={"help": "the longest time of DiCE for a person"})
    max_changes: tuple[int, ...] = field(default=(3,), metadata={"help": "the most features that may change"})
    rows: int = field(default=12_000, metadata={"quick": 1000, "help": "most rows of a data set"})
    data_sets: tuple[str, ...] = field(
        default=DATA_SETS, metadata={"metavar": "A,B", "help": "which of the folder's data sets, beside the population"}
    )
    models: tuple[str, ...] = field(default=tuple(MODELS), metadata={"metavar": "A,B", "help": "which models"})
    drafted_people: int = field(
        default=100, metadata={"quick": 5, "help": "people whose CPU is measured in drafted programs; 0 leaves it out"}
    )
    drafts_alone: bool = field(default=False, metadata={"help": "only the CPU in drafted programs"})
    followed_people: int = field(
        default=100, metadata={"quick": 5, "help": "people whose CPU is measured with 20 effects; 0 leaves it out"}
    )
    against: Path | None = field(
        default=None,
        metadata={
            "help": "Python of another checkout, whose CPU stands beside",
            "metavar": "CHECKOUT/.venv/bin/python",
        },
    )
    plot: Path | None = field(
        default=None, metadata={"help": "draw the cost of margins against none", "metavar": "FILE.svg"}
    )


def options(args: Args) -> Iterator[Row]:
    """All figures, by data set, model and most changes."""
    _check(args)
    if not args.drafts_alone:
        yield from _proposed(args)
    if args.drafted_people > 0:
        yield from cpu_of_drafts(args.data, args.drafted_people, args.against, args.quick)
    if args.followed_people > 0:
        yield from cpu_of_effects(args.followed_people)


def _proposed(args: Args) -> Iterator[Row]:
    """What the generators propose."""
    peers, curves = installed(PEERS) if args.dice_people > 0 else [], dict[str, list[Point]]()
    for source in sources(args.data, args.data_sets, args.seeds[0]):
        for model in args.models:
            progress(f"{source.name}, {model}: models are fitted")
            case = case_of(source, model, args.rows, args.people, args.seeds[0])
            yield from _case_rows(case, args, peers)
            if args.plot is not None:
                most = max(args.max_changes)
                curves[f"{case.title}, {most} changes"] = curve(_space(case, most), case)
        if source.name == args.timed:
            yield from speed(case, args.seeds[0], max(args.max_changes), args.people)
    if args.plot is not None:
        draw(args.plot, curves)
        progress(f"{args.plot} is written")


def _check(args: Args) -> None:
    """Raise ``UsageError`` for names that nothing has, and for a figure that cannot be written."""
    everything = (POPULATION, *DATA_SETS)
    for flag, given, known in (
        ("--data-sets", args.data_sets, DATA_SETS),
        ("--models", args.models, MODELS),
        ("--swept", args.swept, everything),
        ("--timed", (args.timed,), everything),
        ("--dice", args.dice, everything),
    ):
        if unknown := set(given) - set(known):
            raise UsageError(f"{flag} {min(unknown)}: there are {', '.join(known)}")
    if args.plot is not None:
        check_file("--plot", args.plot)


def _case_rows(case: Case, args: Args, peers: Sequence[Kind]) -> Iterator[Row]:
    for most in args.max_changes:
        title, space = f"{case.title}, {most} changes", _space(case, most)
        yield from _rows(title, space, case)
        yield from beside_the_optimum(space, case, title, args.exhaustive_people)
    if case.source.name in args.swept:
        yield from sweep(case, args.sweep_people, args.most_immutable, args.seeds[0])
    if peers and case.source.name in args.dice:
        yield from beside_peers(title, space, case, peers, args.dice_people, args.patience_seconds)


def _space(case: Case, most: int) -> Space:
    return space_of(case.source.codec)._replace(max_changes=most)


def _rows(title: str, space: Space, case: Case) -> Iterator[Row]:
    """The options at the bare threshold, and those with the margin that ``margin: auto`` measures."""
    for name in GENERATORS:
        generator = registry[name]
        if case.model == "logistic" or not generator.needs_linear_score:
            aims = () if generator.copies_instances else ("changes",)
            yield from figures(title, name, case, options_of(generator, space, case), aims=aims)
    for name in WITH_A_MARGIN:
        margin = _margin(name, space, case)
        line, safe = f"{name}, margin {margin:g}", options_of(registry[name], space, case, margin)
        yield from figures(title, line, case, safe, aims=("changes", "accepted", "improvement"))
        progress(f"{title}, {line}: {1 - len(safe.people) / len(case.people):.0%} none")


def _margin(name: str, space: Space, case: Case) -> float:
    """The margin as ``onward train`` measures it."""
    objective = Objective(L1())
    generator = registry[name].build(space, case.instances, objective)
    unsaved = UnsavedProgram(generator, space, objective, case.score, 0.5)
    return smallest_margin(unsaved, case.retrained, case.people).margin


if __name__ == "__main__":
    sys.exit(face.run(Args, options, show=tables, width=WIDTH))

"""What the generators propose to the same people, with the same model: who gets an option, how many changes, at what
cost, whether a model of other data accepts it, whether it truly improves people, and the processor time of a person.

The exhaustive optimum is that of a coarse grid, on which the search runs too. DiCE stands beside where it is installed.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from onward.agents.candidates import RecourseInstances, Space
from onward.agents.candidates.search import Search
from onward.agents.costs import L1
from onward.benchmarks import face
from onward.benchmarks.face import Row, progress
from onward.benchmarks.recourse.cases import DATA_SETS, MODELS, Case, Options, case_of, mean, options_of, sources
from onward.benchmarks.recourse.curve import Point, curve, draw
from onward.benchmarks.recourse.dice import beside_dice, installed
from onward.benchmarks.recourse.sweep import beside_the_optimum, sweep
from onward.streams.cli.flags.output_paths import check_file
from onward.streams.errors import UsageError
from onward.streams.programs.space import space_of
from onward.streams.programs.training.margin import smallest_margin

AIM_CHANGES, AIM_RETRAINED, AIM_IMPROVEMENT = 2.0, 0.9, 0.75
WIDTH = 140
AIM_MILLISECONDS = {"forest": 12.0}


@dataclass(frozen=True, kw_only=True)
class Args(face.Args):
    """The command line."""

    people: int = field(default=100, metadata={"quick": 10, "help": "rejected people of each model"})
    exhaustive_people: int = field(default=20, metadata={"quick": 3, "help": "of these, searched exhaustively"})
    sweep_people: int = field(default=5, metadata={"quick": 1, "help": "of these, searched exhaustively in every spec"})
    most_immutable: int = field(default=6, metadata={"quick": 1, "help": "the most immutable features of these specs"})
    dice_people: int = field(default=10, metadata={"quick": 2, "help": "of these, given to DiCE; 0 leaves it out"})
    patience_seconds: float = field(default=30.0, metadata={"help": "the longest time of DiCE for a person"})
    max_changes: tuple[int, ...] = field(default=(2, 3), metadata={"help": "the most features that may change"})
    rows: int = field(default=20_000, metadata={"quick": 1000, "help": "most rows of a data set"})
    data_sets: tuple[str, ...] = field(
        default=DATA_SETS, metadata={"metavar": "A,B", "help": "which of the folder's data sets, beside the population"}
    )
    models: tuple[str, ...] = field(default=tuple(MODELS), metadata={"metavar": "A,B", "help": "which models"})
    plot: Path | None = field(
        default=None, metadata={"help": "draw the cost of margins against none", "metavar": "FILE.svg"}
    )


def options(args: Args) -> Iterator[Row]:
    """All figures, by data set, model and most changes."""
    _check(args)
    with_dice, curves = args.dice_people > 0 and installed(), dict[str, list[Point]]()
    for source in sources(args.data, args.data_sets, args.seeds[0]):
        for model in args.models:
            case = case_of(source, model, args.rows, args.people, args.seeds[0])
            yield from _case_rows(case, args, with_dice)
            if args.plot is not None:
                most = max(args.max_changes)
                curves[f"{case.title}, {most} changes"] = curve(_space(case, most), case)
    if args.plot is not None:
        draw(args.plot, curves)
        progress(f"{args.plot} is written")


def _check(args: Args) -> None:
    """Raise ``UsageError`` for names that nothing has, and for a figure that cannot be written."""
    for flag, given, known in (("--data-sets", args.data_sets, DATA_SETS), ("--models", args.models, MODELS)):
        if unknown := set(given) - set(known):
            raise UsageError(f"{flag} {min(unknown)}: there are {', '.join(known)}")
    if args.plot is not None:
        check_file("--plot", args.plot)


def _case_rows(case: Case, args: Args, with_dice: bool) -> Iterator[Row]:
    for most in args.max_changes:
        title, space = f"{case.title}, {most} changes", _space(case, most)
        yield from _rows(title, space, case)
        yield from beside_the_optimum(title, space, case, args.exhaustive_people)
    yield from sweep(case, args.sweep_people, args.most_immutable, args.seeds[0])
    if with_dice:
        yield from beside_dice(title, space, case, args.dice_people, args.patience_seconds)


def _space(case: Case, most: int) -> Space:
    return space_of(case.source.codec)._replace(max_changes=most)


def _rows(title: str, space: Space, case: Case) -> Iterator[Row]:
    search, copied = (options_of(generator, space, case) for generator in (Search, RecourseInstances))
    none, none_copied = (1 - len(found.people) / len(case.people) for found in (search, copied))
    yield Row(f"{title}: none", none, "share", reference=none_copied, better="lower")
    changes = mean(search.changes)
    yield Row(f"{title}: changes", changes, "", reference=mean(copied.changes), aim=AIM_CHANGES, better="lower")
    yield Row(f"{title}: cost", mean(search.cost), "", reference=mean(copied.cost), better="lower")
    accepted, accepted_copied = (mean(case.other(found.targets) > 0.5) for found in (search, copied))
    yield Row(f"{title}: accepted by another", accepted, "share", reference=accepted_copied, aim=AIM_RETRAINED)
    if case.source.truth is not None:
        truth, copied_truth = (mean(case.source.truth(found.targets)) for found in (search, copied))
        yield Row(f"{title}: true improvement", truth, "share", reference=copied_truth)
    spent = search.seconds / len(case.people) * 1000
    aim = AIM_MILLISECONDS.get(case.model)
    yield Row(f"{title}: CPU of a person", spent, "ms", aim=aim, better="lower")
    progress(f"{title}: none {none:.1%} (instances {none_copied:.1%}), {changes:.2f} changes, {spent:.1f} ms a person")
    yield from _with_margin(title, space, case, search)


def _with_margin(title: str, space: Space, case: Case, bare: Options) -> Iterator[Row]:
    """The options of the margin that ``margin: auto`` measures, beside those at the bare threshold."""
    generator = Search.build(space, case.instances, L1())
    margin = smallest_margin(generator, L1(), case.score, 0.5, case.retrained, case.people, space.feature_of).margin
    safe = options_of(Search, space, case, margin)
    title = f"{title}, margin {margin:g}"
    yield Row(f"{title}: none", 1 - len(safe.people) / len(case.people), "share", better="lower")
    yield Row(f"{title}: changes", mean(safe.changes), "", mean(bare.changes), AIM_CHANGES, "lower")
    yield Row(f"{title}: cost", mean(safe.cost), "", mean(bare.cost), better="lower")
    accepted = mean(case.other(safe.targets) > 0.5)
    progress(f"{title}: accepted by another {accepted:.2f}")
    yield Row(f"{title}: accepted by another", accepted, "share", mean(case.other(bare.targets) > 0.5), AIM_RETRAINED)
    if case.source.truth is not None:
        truth, bare_truth = (mean(case.source.truth(found.targets)) for found in (safe, bare))
        yield Row(f"{title}: true improvement", truth, "share", bare_truth, AIM_IMPROVEMENT)


if __name__ == "__main__":
    sys.exit(face.run(Args, options, width=WIDTH))

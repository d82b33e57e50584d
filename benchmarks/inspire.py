"""INSPIRE: sets of options for people whose preferences nobody knows (expected minimum cost, COLS).

With --users only the named figures of the users in that file are measured. Without it also the tables and figures of
the paper, with the authors' stored results beside. Table 3 (what people prefer) needs people, and table 8 data that are
not at hand: both are left out.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from onward.benchmarks import face
from onward.benchmarks.face import Row
from onward.benchmarks.inspire_study import figures, tables
from onward.benchmarks.inspire_study.answers import answers
from onward.benchmarks.inspire_study.data import NAMES, load, load_people
from onward.benchmarks.inspire_study.tables import Study, stored_results
from onward.benchmarks.inspire_study.users import named_rows
from onward.streams.errors import UsageError

SHARED = Path(os.environ.get("ONWARD_SHARED", Path(__file__).parents[1].parent / "shared"))
ANSWERS = "answers"
PARTS = (
    "named",
    "table1",
    "table2",
    "table4",
    "table9",
    "table11",
    "bounds",
    "figure2",
    "figure3",
    "figure4",
    "figure5",
    "figure6",
    ANSWERS,
)
ADULT_ALONE = {"figure2", "figure3", "figure4", "figure5", "figure6"}
"""The paper has these figures of Adult alone."""
STORED_PEOPLE = 300
"""People of the stored results."""


@dataclass(frozen=True, kw_only=True)
class Args(face.Args):
    """The command line."""

    users: Path | None = field(default=None, metadata={"help": "people; only the named figures", "metavar": "FILE.npz"})
    inspire: Path = field(
        default=SHARED / "reference" / "inspire", metadata={"help": "folder of the authors' arrays", "metavar": "DIR"}
    )
    studies: tuple[str, ...] = field(default=tuple(NAMES), metadata={"help": "which data sets", "metavar": "A,B"})
    parts: tuple[str, ...] = field(default=PARTS, metadata={"quick": ("named", "table2"), "help": "what is measured"})
    people: int = field(default=300, metadata={"quick": 6, "help": "most people of the named figures and table 1"})
    fewer: int = field(default=100, metadata={"quick": 4, "help": "most people of the other tables and figures"})
    answer_seeds: range = field(
        default=range(1, 6),
        metadata={"quick": range(1, 2), "help": "seeds A-B of what answers teach", "metavar": "A-B"},
    )
    figures: Path | None = field(default=None, metadata={"help": "draw the figures into this folder", "metavar": "DIR"})


def inspire(args: Args) -> Iterator[Row]:
    """All figures."""
    for part in args.parts:
        if part not in PARTS:
            raise UsageError(f"--parts: there is no {part!r}, use some of {','.join(PARTS)}")
    for name in args.studies:
        if name not in NAMES:
            raise UsageError(f"--studies: there is no {name!r}, use some of {','.join(NAMES)}")
    stored = stored_results(args.inspire)
    for name in args.studies:
        data, seed = load(args.inspire, name), args.seeds[0]
        if args.users is not None:
            yield from named_rows(data, load_people(args.users, data), seed, whole=False)
            continue
        data = data._replace(people=data.people[: args.people])
        whole = args.people >= STORED_PEOPLE
        reference = stored.get(NAMES[name], {}).get("shared_users_0_to_299", {}) if whole else {}
        study = Study(data, reference, seed, args.fewer)
        for part in args.parts:
            if part != ANSWERS and not (part in ADULT_ALONE and name != "adult"):
                yield from _rows(part, study, args)
    if args.users is None and ANSWERS in args.parts:
        yield from answers(args.answer_seeds)


def _rows(part: str, study: Study, args: Args) -> Iterator[Row]:
    data, few, seed, folder = study.data, study.few, study.seed, args.figures
    parts: dict[str, Callable[[], Iterator[Row]]] = {
        "named": lambda: named_rows(data, data.people, seed, whole=args.people >= STORED_PEOPLE),
        "table1": lambda: tables.table_1(study),
        "table2": lambda: tables.table_2(study),
        "table4": lambda: tables.tables_4_and_6(study),
        "table9": lambda: tables.tables_9_and_10(study),
        "table11": lambda: tables.table_11(study),
        "bounds": lambda: tables.bounds(study),
        "figure2": lambda: figures.figure_2(data, few, seed),
        "figure3": lambda: figures.figure_3(data, few, seed),
        "figure4": lambda: figures.figure_4(data, few, seed, folder),
        "figure5": lambda: figures.figure_5(data, few, seed, folder),
        "figure6": lambda: figures.figure_6(data, few, seed, folder),
    }
    return parts[part]()


if __name__ == "__main__":
    sys.exit(face.run(Args, inspire, width=120))

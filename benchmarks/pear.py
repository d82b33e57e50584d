"""PEAR: a few questions to a person, then the plan that is the cheapest for this person.

With --users only the named figures of the users in that file are measured. Without it also the tables and figures of
the paper for the stored users, with the authors' stored results beside. Of the paper's competitors MCTS, CSCF and FACE
are run, for --fewer users of a set, with their published figures beside; those of the others stand in rows marked
(published). The parts appendix_c (shallow classifiers), appendix_d (rules that explain) and appendix_e are named after
the paper's; the figures that it prints in the first two are not at hand.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from threadpoolctl import threadpool_limits

from onward.benchmarks import face
from onward.benchmarks.elicitation import explained, shallow, tables
from onward.benchmarks.elicitation.named import named_rows, published
from onward.benchmarks.elicitation.study import DATA, USERS, Study, sets_of_file
from onward.benchmarks.face import Row
from onward.streams.errors import UsageError

SHARED = Path(os.environ.get("ONWARD_SHARED", Path(__file__).parents[1].parent / "shared"))
PARTS = (
    "named",
    "table1",
    "table2",
    "figure3",
    "prior",
    "population",
    "plausible",
    "appendix_c",
    "appendix_d",
    "appendix_e",
    "cpu",
)


@dataclass(frozen=True, kw_only=True)
class Args(face.Args):
    """The command line."""

    users: Path | None = field(default=None, metadata={"help": "users; only the named figures", "metavar": "FILE.npz"})
    reference: Path = field(
        default=SHARED / "reference" / "pear", metadata={"help": "folder of the authors' data", "metavar": "DIR"}
    )
    studies: tuple[str, ...] = field(default=DATA, metadata={"help": "which data sets", "metavar": "A,B"})
    parts: tuple[str, ...] = field(default=PARTS, metadata={"quick": ("named", "table1"), "help": "what is measured"})
    people: int = field(default=150, metadata={"quick": 5, "help": "most stored users of a set"})
    fewer: int = field(
        default=50, metadata={"quick": 3, "help": "most users of a set where many settings or methods are played"}
    )
    figures: Path | None = field(default=None, metadata={"help": "draw the figures into this folder", "metavar": "DIR"})


def pear(args: Args) -> Iterator[Row]:
    """All figures, on one core."""
    for name, values, known in (("parts", args.parts, PARTS), ("studies", args.studies, DATA)):
        for value in values:
            if value not in known:
                raise UsageError(f"--{name}: there is no {value!r}, use some of {','.join(known)}")
    with threadpool_limits(1):
        yield from _of_file(args, args.users) if args.users is not None else _of_stored(args)


def _of_file(args: Args, file: Path) -> Iterator[Row]:
    found = sets_of_file(file)
    for name in (name for name in args.studies if name in found):
        study = Study(args.reference, name)
        sets = {users: study.users_of_file(file, users) for users in found[name]}
        yield from named_rows(study, sets, published(args.reference, False), args.seeds[0])


def _of_stored(args: Args) -> Iterator[Row]:
    for name in args.studies:
        study = Study(args.reference, name)
        sets = {users: study.stored_users(users).first(args.people) for users in USERS}
        reference, seed = published(args.reference, args.people >= tables.STORED_USERS), args.seeds[0]
        stored = tables.Stored(study, sets, reference, seed, args.fewer)
        parts: dict[str, Callable[[], Iterator[Row]]] = {
            "named": partial(named_rows, study, sets, reference, seed),
            "table1": partial(tables.table_1, stored),
            "table2": partial(tables.table_2, stored),
            "figure3": partial(tables.figure_3, stored, args.figures),
            "prior": partial(tables.misspecified_prior, stored),
            "population": partial(tables.learned_population, stored),
            "plausible": partial(tables.plausible_only, stored),
            "appendix_c": partial(shallow.appendix_c, stored),
            "appendix_d": partial(explained.appendix_d, stored),
            "appendix_e": partial(tables.lengths_and_scores, stored),
            "cpu": partial(tables.processor_time, stored),
        }
        for part in args.parts:
            yield from parts[part]()


if __name__ == "__main__":
    sys.exit(face.run(Args, pear, width=160))

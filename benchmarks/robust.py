"""Robust recourse: exact prices under models that change, promises from retrained models, and what they cost.

With --instances only the excess over the optima of that file is measured. Without it also table 1 of the paper on
optimal robust recourse, frontiers of cost and validity, post-processing, radii from bootstrap, ensembles of retrained
forests and boosters, the rows of retrains, what a promise states beside what is true, surrogates of networks, speed,
and how many options last by default. German and SBA are in the folder --data.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from onward.benchmarks import face
from onward.benchmarks.face import Row, progress
from onward.benchmarks.robustness import instances
from onward.benchmarks.robustness.calibration import calibration
from onward.benchmarks.robustness.ensembles import ensembles
from onward.benchmarks.robustness.folds import FILES, prepared
from onward.benchmarks.robustness.last import last
from onward.benchmarks.robustness.networks import networks
from onward.benchmarks.robustness.prices import Study, frontiers, post_processing, printed, roar, study, table_1
from onward.benchmarks.robustness.resamples import resamples
from onward.benchmarks.robustness.speed import speed
from onward.benchmarks.robustness.stated import stated
from onward.streams.errors import UsageError

WIDTH = 130
SHARED = Path(os.environ.get("ONWARD_SHARED", Path(__file__).parents[1].parent / "shared"))
STORED = SHARED / "reference" / "robust" / "instances.npz"
TABLE = SHARED / "reference" / "robust" / "table1.json"
PARTS = (
    "instances",
    "table1",
    "baselines",
    "frontiers",
    "post",
    "calibration",
    "ensembles",
    "resamples",
    "stated",
    "networks",
    "speed",
    "last",
)


@dataclass(frozen=True, kw_only=True)
class Args(face.Args):
    """The command line."""

    instances: Path | None = field(
        default=None, metadata={"help": "problems with their optima; only these rows", "metavar": "FILE.npz"}
    )
    parts: tuple[str, ...] = field(default=PARTS, metadata={"help": "what is measured"})
    studies: tuple[str, ...] = field(default=tuple(FILES), metadata={"help": "which data sets", "metavar": "A,B"})
    retrains: int = field(default=20, metadata={"quick": 4, "help": "retrained models of each kind"})
    people: int = field(
        default=50, metadata={"quick": 4, "help": "people of ensembles, networks and options that last"}
    )
    rows: int = field(default=6000, metadata={"quick": 600, "help": "most rows behind ensembles"})
    splits: int = field(default=10, metadata={"quick": 1, "help": "halvings of the rows; others with another seed"})
    delta: float = field(default=0.05, metadata={"help": "the share of retrains that may reject an option"})
    steps: int = field(default=1000, metadata={"quick": 50, "help": "steps of ROAR"})
    batch: int = field(default=20_000, metadata={"quick": 200, "help": "people whose recourse is timed"})
    options: int = field(default=1_000_000, metadata={"quick": 10_000, "help": "options that are revalidated"})


def robust(args: Args) -> Iterator[Row]:
    """All figures."""
    for part in args.parts:
        if part not in PARTS:
            raise UsageError(f"--parts: there is no {part!r}, use some of {','.join(PARTS)}")
    for name in args.studies:
        if name not in FILES:
            raise UsageError(f"--studies: there is no {name!r}, use some of {','.join(FILES)}")
    if args.instances is not None:
        yield from instances.excess_rows(instances.load(args.instances))
        return
    parts: dict[str, Callable[[Args], Iterator[Row]]] = {
        "instances": _instances,
        "table1": partial(_studied, lambda found, _: table_1(found)),
        "baselines": partial(_studied, _baselines),
        "frontiers": partial(_studied, _frontiers),
        "post": partial(_studied, _post),
        "calibration": partial(_studied, lambda found, args: calibration(found, args.retrains, args.seeds[0])),
        "ensembles": _ensembles,
        "resamples": _resamples,
        "stated": lambda args: stated(args.data, args.splits, args.retrains, args.people, args.rows, args.seeds[0]),
        "networks": partial(_studied, lambda found, args: networks(found, args.retrains, args.people, args.seeds[0])),
        "speed": lambda args: speed(args.batch, args.options, args.seeds[0]),
        "last": lambda args: last(args.data, args.people, args.retrains, args.rows, args.seeds),
    }
    for part in args.parts:
        progress(part)
        yield from parts[part](args)


def _instances(_: Args) -> Iterator[Row]:
    if STORED.is_file():
        yield from instances.excess_rows(instances.load(STORED))
    else:
        progress(f"instances are left out: there is no {STORED}")


def _ensembles(args: Args) -> Iterator[Row]:
    names = args.data if "german" in args.studies else None
    yield from ensembles(names, args.people, args.retrains, args.rows, args.delta, args.seeds[0])


def _resamples(args: Args) -> Iterator[Row]:
    # Other models are of other rows: a file has a third of what the ensembles have.
    yield from resamples(args.data, args.people, args.retrains, args.rows // 3, args.delta, args.seeds)


def _frontiers(found: Study, args: Args) -> Iterator[Row]:
    assert args.data is not None, "a study has data"
    return frontiers(found, args.data)


def _baselines(found: Study, args: Args) -> Iterator[Row]:
    yield from roar(found, args.steps)
    if found.name == "german":
        yield from printed(found)


def _post(found: Study, _: Args) -> Iterator[Row]:
    return post_processing(found) if found.name == "german" else iter(())


def _studied(measure: Callable[[Study, Args], Iterator[Row]], args: Args) -> Iterator[Row]:
    """The rows of each data set."""
    if args.data is None:
        progress("left out: there is no --data")
        return
    for name in args.studies:
        if not (args.data / FILES[name]).is_file():
            raise UsageError(f"--data {args.data}: there is no {FILES[name]}")
        yield from measure(study(name, prepared(args.data, name), TABLE), args)


if __name__ == "__main__":
    sys.exit(face.run(Args, robust, width=WIDTH))

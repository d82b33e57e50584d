"""``onward train``: a program's first model from a CSV."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from ...programs.training import ESTIMATORS
from ..flags import CommandParser
from ..train import train

DESCRIPTION = """Train a model on labelled data and write it, its recourse instances and a manifest to a new folder.
The same data, spec and seed give the same model."""


def run(args: Sequence[str]) -> int:
    """Train and print how good the model is."""
    parser = CommandParser(prog="onward train", description=DESCRIPTION)
    parser.add_argument("csv", type=Path, metavar="CSV", help="data with the spec's features and its label")
    parser.add_argument("--spec", required=True, type=Path, metavar="FILE", help="program spec (YAML)")
    parser.add_argument("--output", required=True, type=Path, metavar="DIR", help="new folder for the model")
    parser.add_argument(
        "--estimator",
        default=next(iter(ESTIMATORS)),
        choices=list(ESTIMATORS),
        help="kind of model (default: %(default)s)",
    )
    parser.add_argument("--seed", default=0, type=int, metavar="N", help="seed of split and training (default: 0)")
    options = parser.parse_args(list(args))
    return train(options.csv, options.spec, options.output, options.estimator, options.seed)

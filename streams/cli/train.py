"""``onward train``: a program's first model from a CSV."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from msgspec import UNSET
from rich.console import Console
from rich.table import Table

from ...schemas.specfile import LoadedSpec, SpecError
from ..errors import UsageError
from ..programs.bundle.manifest import MANIFEST, Manifest
from ..programs.program import uses_margin
from ..programs.spec_check import load_program_spec
from ..programs.training.margin import RETRAINED
from ..programs.training.train import ESTIMATORS, train
from .flags import CommandParser

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
    parser.add_argument(
        "--calibrate",
        action="store_true",
        help="fit a sigmoid that turns scores into probabilities, by cross-validation (not for mlp)",
    )
    parser.add_argument("--seed", default=0, type=int, metavar="N", help="seed of split and training (default: 0)")
    options = parser.parse_args(list(args))
    loaded = program_spec(options.spec)
    tell_margin(loaded)
    manifest = train(
        options.csv,
        loaded,
        options.output,
        estimator=options.estimator,
        seed=options.seed,
        calibrate=options.calibrate,
    )
    print_model(manifest, loaded.spec.candidates, options.output)
    return 0


def program_spec(path: Path) -> LoadedSpec:
    """The spec of a file; raise ``UsageError`` with its problems."""
    try:
        return load_program_spec(path)
    except SpecError as error:
        raise UsageError(str(error)) from None


def tell_margin(loaded: LoadedSpec) -> None:
    """Say on standard error what takes so long, where a margin is measured."""
    if uses_margin(loaded.spec):
        text = f"fitting {RETRAINED} more models on resamples of the data, to measure the margin"
        Console(stderr=True).print(text, highlight=False, soft_wrap=True, markup=False)


def print_model(manifest: Manifest, candidates: int, output: Path) -> None:
    """Print how good a new model is, and where it is."""
    metrics = dict(manifest.metrics)
    found = int(metrics.pop("instances"))
    table = Table("metric", "value")
    for name, value in metrics.items():
        table.add_row(name.replace("_", " "), f"{value:.4f}" if value != int(value) else f"{value:.0f}")
    margin = () if manifest.margin is UNSET else (f"margin: {manifest.margin:g} above the threshold",)
    lines = (
        *margin,
        f"recourse instances: {min(found, candidates)} kept of {found} found (candidates in the spec: {candidates})",
        f"manifest: {output / MANIFEST}",
    )
    console = Console()
    console.print(f"{manifest.program}: model {manifest.version}", highlight=False, soft_wrap=True, markup=False)
    console.print(table)
    for line in lines:
        console.print(line, highlight=False, soft_wrap=True, markup=False)

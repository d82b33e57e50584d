"""What ``onward train`` does and prints."""

from __future__ import annotations

from pathlib import Path
from typing import cast

from rich.console import Console
from rich.table import Table

from ...schemas.specfile import SpecError
from ..errors import UsageError
from ..programs.bundle import MANIFEST, Manifest
from ..programs.spec_check import load_program_spec
from ..programs.training import ESTIMATORS, EstimatorName
from ..programs.training import train as train_model


def train(csv: Path, spec: Path, output: Path, estimator: str, seed: int) -> int:
    """Train a model, write its bundle to the folder ``output`` and print how good it is. Returns the exit code."""
    if estimator not in ESTIMATORS:
        raise UsageError(f"there is no estimator {estimator!r}: choose one of {', '.join(ESTIMATORS)}")
    try:
        loaded = load_program_spec(spec)
    except SpecError as error:
        raise UsageError(str(error)) from None
    manifest = train_model(csv, loaded, output, estimator=cast(EstimatorName, estimator), seed=seed)
    _print(manifest, loaded.spec.candidates, output)
    return 0


def _print(manifest: Manifest, candidates: int, output: Path) -> None:
    metrics = dict(manifest.metrics)
    found = int(metrics.pop("instances"))
    table = Table("metric", "value")
    for name, value in metrics.items():
        table.add_row(name.replace("_", " "), f"{value:.4f}" if value != int(value) else f"{value:.0f}")
    lines = (
        f"recourse instances: {min(found, candidates)} kept of {found} found (candidates in the spec: {candidates})",
        f"manifest: {output / MANIFEST}",
    )
    console = Console()
    console.print(f"{manifest.program}: model {manifest.version}", highlight=False, soft_wrap=True, markup=False)
    console.print(table)
    for line in lines:
        console.print(line, highlight=False, soft_wrap=True, markup=False)

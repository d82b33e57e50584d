"""What the commands that make a model print about it."""

from __future__ import annotations

from pathlib import Path

from msgspec import UNSET
from rich.console import Console
from rich.table import Table

from ....schemas.specfile import LoadedSpec
from ...programs.bundle.manifest import MANIFEST, Manifest
from ...programs.program import uses_margin
from ...programs.training.margin import RETRAINED


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

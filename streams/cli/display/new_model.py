"""The output of the commands that make a model."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import msgspec
from rich.console import Console
from rich.table import Table

from ....schemas.spec import ProgramSpec
from ...programs import effects
from ...programs.bundle.manifest import MANIFEST, Manifest
from ...programs.bundle.measured import Measured
from ...programs.selected_labels import selected_in_words
from ...programs.training.measures import data, improvement, lasting, margin, promise, protected, served


def tell_dates(columns: Sequence[str]) -> None:
    """Say on standard error that a promise was measured on random halves of rows that have dates."""
    if columns:
        names = ", ".join(columns)
        tell(f"the data have dates ({names}): with `--date-column NAME` the promise is measured on later rows instead")


def tell(text: str) -> None:
    """Print a line on standard error."""
    Console(stderr=True).out(text, highlight=False)


def print_model(manifest: Manifest, spec: ProgramSpec, output: Path) -> None:
    """Print how good a new model is, whom it leaves without an option, and where it is."""
    table = Table("metric", "value")
    for name, value in _figures(manifest.measured):
        table.add_row(name.replace("_", " "), f"{value:.4f}" if value != int(value) else f"{value:.0f}")
    console = Console()
    console.out(f"{manifest.program}: model {manifest.version}", highlight=False)
    console.print(table)
    for measure in (margin, promise, improvement, served, lasting, data):
        for line in measure.in_words(manifest, spec):
            console.out(line, highlight=False)
    for line in (*effects.fitted_in_words(spec, manifest.effects), *_left_out(spec)):
        console.out(line, highlight=False)
    console.out(f"manifest: {output / MANIFEST}", highlight=False)
    for line in _warnings(manifest, spec):
        tell(f"warning: {line}")


def _figures(measured: Measured) -> Iterator[tuple[str, float]]:
    """The measures that are told as numbers, by name."""
    if measured.quality is not None:
        figures = msgspec.structs.asdict(measured.quality)
        del figures["just_above"]  # told where it matters
        yield from ((name, value) for name, value in figures.items() if value is not None)
    if measured.data is not None:
        if (rows := measured.data.unlabelled) is not None:
            counts = {"unlabelled rows": rows.rows, "unlabelled rows read": rows.read}
            counts["unlabelled rows unusable"] = rows.unusable
            yield from ((name, count) for name, count in counts.items() if count is not None)
        if measured.data.fewest_alike is not None:
            yield "fewest alike", measured.data.fewest_alike


def _left_out(spec: ProgramSpec) -> Iterator[str]:
    """The protected features that the model does not read."""
    if names := ", ".join(spec.barred):
        yield f"protected, and not read by the model: {names} (`model: {{may_read: [...]}}` lets it decide by them)"


def _warnings(manifest: Manifest, spec: ProgramSpec) -> Iterator[str]:
    """What is wrong with a model, its data or its spec."""
    measured = manifest.measured
    yield from protected.in_words(manifest, spec)
    yield from selected_in_words(measured)
    yield from effects.doubts_in_words(measured.effects, manifest.effects)
    if measured.served is not None and served.serves_nobody(measured.served):
        where = "" if measured.served.without_option == 1.0 else " in such a round"
        yield "; ".join([f"with this spec nobody is served{where}", *served.what_to_do(manifest, spec)[:1]])

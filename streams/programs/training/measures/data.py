"""The rows that a model was made of."""

from __future__ import annotations

from collections.abc import Iterator

from .....agents.candidates import registry
from .....schemas.spec import ProgramSpec
from ...bundle.manifest import Manifest
from ...bundle.measured import Approvals, Data
from ...published_rows import copies_rows, fewest_alike
from ..trained import Trained


def measure(trained: Trained) -> Data:
    """What the rows are like that may become recourse instances, have no label, or break a constraint."""
    table = trained.table
    return Data(
        len(trained.usable),
        fewest_alike(trained.instances, table.rows) if copies_rows(trained.spec) else None,
        table.without_label,
        _approvals(trained),
        dict(trained.codec.broken_constraints(table.rows)),
    )


def _approvals(trained: Trained) -> Approvals | None:
    """Which share of the people with and without a label the model approves; None where none are read."""
    table = trained.table
    if table.other_X is None or not len(table.other_X):
        return None
    shares = (trained.approves(X).mean() for X in (table.X[trained.split.judged], table.other_X))
    return Approvals(*map(float, shares))


def in_words(manifest: Manifest, spec: ProgramSpec) -> Iterator[str]:
    """How many rows of the data are in the bundle, where its generator uses them."""
    data = manifest.measured.data
    if data is not None and registry[spec.policy.generator].uses_instances:
        kept = min(data.instances, spec.candidates)
        yield f"recourse instances: {kept} kept of {data.instances} found (candidates in the spec: {spec.candidates})"

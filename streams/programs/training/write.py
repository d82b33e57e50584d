"""Measuring a new model and writing its bundle."""

from __future__ import annotations

from pathlib import Path

from ..assembly import check_first
from ..bundle.manifest import Manifest
from ..bundle.writer import write_bundle
from ..model_fit import ModelFacts
from .measures import data, improvement
from .measures.measure import measure
from .trained import Trained
from .unlabelled_rows import approved_others


def write_trained(trained: Trained, output: Path) -> Manifest:
    """Measure a model, and write its bundle to a folder that does not exist yet.

    Raises ``UsageError`` where it cannot serve the spec: as soon as it is known, since the rest may take long.
    """
    facts = ModelFacts(trained.model)
    check_first(facts, trained.loaded)
    effects = trained.following.effects
    rows = data.measure(trained)
    facts = facts._replace(has_instances=bool(trained.instances), data=rows)
    check_first(facts, trained.loaded)
    margin, samples, share = trained.margin.margin, trained.samples, trained.share
    facts = facts._replace(margin=margin, retrains=samples.retrains, calibration=share.calibration)
    check_first(facts, trained.loaded)
    unseen = trained.split.unseen
    approved = unseen[trained.approves(trained.table.X[unseen])]
    return write_bundle(
        output,
        trained.spec,
        trained.codec.columns,
        version=trained.version(share),
        estimator=trained.estimator,
        instances=trained.instances,
        reference=trained.population,
        margin=margin,
        retrains=samples.retrains,
        promise_calibration=share.calibration,
        goal_policy=trained.goal_policy,
        effects=effects,
        improvement=improvement.measure(trained),
        approved=[*trained.raw(approved), *approved_others(trained.table, trained.approves)],
        measured=measure(trained, rows),
    )

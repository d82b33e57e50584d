"""A new model of a program, measured on rows of a table and written as a bundle: fitted here, or read from a file."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.metrics import accuracy_score, balanced_accuracy_score, brier_score_loss, roc_auc_score
from threadpoolctl import threadpool_limits

from ....agents.promises import Promise
from ....agents.scores import digits_apart, rounded_down
from ....schemas.events import Value
from ....schemas.specfile import LoadedSpec
from ....schemas.table import Table, read_table, unlabelled_in_words
from ...errors import UsageError
from ..assembly import check_first
from ..bundle.manifest import Manifest
from ..bundle.writer import write_bundle
from ..limited_places import round_score
from ..model_fit import ModelFacts
from ..models.scoring import score_of_options
from ..promised import measured_promise
from ..published_rows import METRIC as ALIKE
from ..published_rows import copies_rows, fewest_alike
from .effects import fit_effects
from .fitted_model import Trained
from .improvement import fit_improvement, measured_improvement
from .label_fit import clearly, fit_of
from .lasting import measure_lasting
from .margin import Tell, wanted_margin
from .others import others_beside
from .protected import protected_use
from .resampled import Samples
from .selected import approved_others, approved_shares, population_rows, with_rejected_others
from .served import broken_rows, just_above, measure_served
from .share_calibration import ShareMeasurement
from .unsaved_program import Floats, UnsavedProgram, unsaved_program


def labelled(csv: Path, loaded: LoadedSpec, tell: Tell) -> Table:
    """The rows of a file that have a label; how many have none is told."""
    table = read_table(csv, loaded.spec)
    for line in unlabelled_in_words(table.left_out):
        tell(line)
    return table


def write_trained(
    trained: Trained,
    output: Path,
    *,
    seed: int,
    version: Callable[[ShareMeasurement], str],
    goal_policy: bytes | None,
) -> Manifest:
    """Measure a model, and write its bundle to a folder that does not exist yet.

    Raises ``UsageError`` where it cannot serve the spec.
    """
    spec, table, split = trained.loaded.spec, trained.table, trained.split
    known = ModelFacts(trained.model)
    check_first(known, trained.loaded)
    following = fit_effects(trained.csv, spec, table, split.population)
    usable = accepted_rows(trained)
    instances = usable[: spec.candidates]
    alike = {ALIKE: float(fewest_alike(instances, table.rows))} if copies_rows(spec) else {}
    known = known._replace(has_instances=bool(instances), metrics=alike)
    check_first(known, trained.loaded)
    population = population_rows(trained, seed)
    with threadpool_limits(1):
        prior = fit_improvement(
            spec, table.X[split.helping], table.labels[split.helping], seed, others_beside(table, len(split.helping))
        )
    unsaved = unsaved_program(trained.codec, trained.model.score, instances, population, prior, following.effects)
    samples: Samples | None = None
    if spec.policy.objective != "cost" or spec.policy.lasting is not None:
        samples = trained.samples()
        unsaved = unsaved._replace(retrains=[score_of_options(other.score) for other in samples.retrains])
    rejected = with_rejected_others(trained, table.X[split.recourse][~trained.approves(split.recourse)])
    margin, measured = wanted_margin(spec, unsaved, partial(trained.refit, samples), rejected)
    # Last, so that nothing else of such a model depends on how many retrains it has.
    samples = samples or trained.samples()
    share = trained.share()
    check_first(known._replace(margin=margin, retrains=samples.retrains, calibration=share.calibration), trained.loaded)
    promise = measured_promise(spec.promise, trained.model, samples.retrains, share.calibration)
    measured |= _served(trained, unsaved, margin, samples, promise)
    return write_bundle(
        output,
        spec,
        trained.codec.columns,
        version=version(share),
        estimator=trained.estimator,
        instances=instances,
        reference=population,
        margin=margin,
        retrains=samples.retrains,
        promise_calibration=share.calibration,
        goal_policy=goal_policy,
        effects=following.effects,
        improvement=measured_improvement(prior, table.X[split.held_out], table.labels[split.held_out]),
        approved=[*trained.raw(split.unseen[trained.approves(split.unseen)]), *approved_others(trained)],
        metrics=_quality(trained) | {"instances": len(usable)} | measured | share.metrics | alike | following.metrics,
    )


def _served(
    trained: Trained, unsaved: UnsavedProgram, margin: Any, samples: Samples, promise: Promise
) -> dict[str, float]:
    """What people are served, and which rows and columns of the data say that something is wrong."""
    spec, table, split = trained.loaded.spec, trained.table, trained.split
    approved = trained.approves(split.recourse)
    rejected, turned_down = (
        with_rejected_others(trained, table.X[rows][~trained.approves(rows)]) for rows in (split.recourse, split.unseen)
    )
    asked = round_score(spec, trained.model.score(table.X[split.recourse])[approved])
    return {
        **measure_served(spec, unsaved, margin, rejected, promise, asked),
        **measure_lasting(spec, unsaved, margin, turned_down, samples, promise),
        **broken_rows(trained.codec, table.rows),
        **protected_use(trained.codec, trained.model.score, table.X[split.judged]),
    }


def accepted_rows(trained: Trained) -> Sequence[Mapping[str, Value]]:
    """The rows that the model accepts and that violate no constraint of the program.

    Raises ``UsageError`` when there are none.
    """
    csv, rows, threshold = trained.csv, trained.split.recourse, trained.loaded.spec.model.threshold
    approved = trained.approves(rows)
    kept = [row for row in trained.raw(rows[approved]) if trained.codec.violated_constraint(row) is None]
    if not kept and approved.any():
        raise UsageError(
            f"{csv}: each of the {approved.sum()} rows that the model accepts breaks a constraint of the spec, so none "
            "can be a recourse instance: correct the constraints, or give more data"
        )
    if not kept:
        scores = trained.model.score(trained.table.X[rows])
        raise UsageError(f"{csv}: {_none_accepted(scores, trained.table.labels[rows], threshold)}")
    return kept


def _none_accepted(scores: Floats, labels: NDArray[np.int64], threshold: float) -> str:
    """Why a model accepts nobody. A lower threshold is no advice where its scores (n,) do not go with the labels."""
    told = f"the model accepts none of the {len(scores)} rows set aside as recourse instances"
    highest = float(scores.max())
    if fit_of(scores, labels).auc < 0.5 + clearly(labels):
        return f"{told}, and its scores do not go with their labels: give more data, or features that tell people apart"
    shown = rounded_down(highest, digits_apart(highest, threshold))
    return f"{told}, their highest score is {shown}: lower model.threshold ({threshold}) below it, or give more data"


def _quality(trained: Trained) -> dict[str, float]:
    """How good a model is, for its manifest: on the ``judged`` rows, and just above the threshold."""
    table, split = trained.table, trained.split
    score, label = trained.model.score(table.X[split.judged]), table.labels[split.judged]
    approved = trained.approves(split.judged).astype(np.int64)
    unseen = trained.model.score(table.X[split.unseen])
    return {
        "accuracy": float(accuracy_score(label, approved)),
        "balanced_accuracy": float(balanced_accuracy_score(label, approved)),
        "roc_auc": float(roc_auc_score(label, score)),
        "brier_score": float(brier_score_loss(label, score)),
        "approval_rate": float(approved.mean()),
        "desired_rate": float(label.mean()),
        "held_out_rows": float(len(split.judged)),
        **trained.facts,
        **just_above(trained.loaded.spec, unseen, table.labels[split.unseen]),
        **table.left_out,
        **approved_shares(trained),
    }

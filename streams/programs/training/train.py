"""Training a program's first model from a data file.

The rows are split 2:1:1, stratified by label, as in ARLIM (Kanamori et al. 2025, section 6.1). One half fits the model.
Of one quarter, the rows that the model accepts become the recourse instances. The last quarter measures the model.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, Literal, ParamSpec, TypeVar

import numpy as np
import sklearn
from msgspec import UNSET, UnsetType
from numpy.typing import NDArray
from sklearn.calibration import CalibratedClassifierCV
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import accuracy_score, balanced_accuracy_score, brier_score_loss, roc_auc_score
from sklearn.model_selection import train_test_split
from sklearn.neural_network import MLPClassifier
from threadpoolctl import threadpool_limits

from ....agents.goals import accepted
from ....agents.scores import digits_apart, rounded_down
from ....schemas.encoding import FeatureCodec
from ....schemas.events import Value
from ....schemas.specfile import LoadedSpec
from ....schemas.table import Table, read_table, unlabelled_in_words
from ...errors import UsageError
from ..assembly import check_first
from ..bundle.manifest import Manifest
from ..bundle.writer import Rows, check_new, write_bundle
from ..limited_places import round_score
from ..model_fit import ModelFacts
from ..models.calibration import CALIBRATED, sklearn_type
from ..models.scoring import DecisionModel, score_of_options, scorer
from ..promised import measured_promise
from ..published_rows import METRIC as ALIKE
from ..published_rows import copies_rows, fewest_alike
from .dates import read_dates
from .first_bounds import in_first_bounds
from .fitting import fit
from .goal_policy import read_goal_policy
from .improvement import fit_improvement, measured_improvement
from .kept_aside import Training
from .label_fit import clearly, fit_of
from .lasting import measure_lasting
from .margin import retrained, wanted_margin
from .protected import protected_use
from .resampled import Resampled, Samples
from .retrains import check_dates, states_share, wanted_retrains
from .served import broken_rows, just_above, measure_served
from .share_calibration import ShareMeasurement, measure_share
from .unsaved_program import Score, unsaved_program

Floats = NDArray[np.float64]
Indices = NDArray[np.intp]
P = ParamSpec("P")
R = TypeVar("R")
EstimatorName = Literal["random_forest", "logistic_regression", "mlp", "gradient_boosting"]

REFERENCE_ROWS = 5000
"""Rows of the training half kept as the population of percentile costs."""

ESTIMATORS: Mapping[EstimatorName, Callable[[np.random.RandomState], Any]] = {
    "random_forest": lambda random: RandomForestClassifier(random_state=random),
    "logistic_regression": lambda random: LogisticRegression(max_iter=1000, random_state=random),
    "mlp": lambda random: MLPClassifier(max_iter=500, early_stopping=True, n_iter_no_change=30, random_state=random),
    "gradient_boosting": lambda random: HistGradientBoostingClassifier(random_state=random),
}

CALIBRATION_FOLDS = 5


def _on_one_thread(function: Callable[P, R]) -> Callable[P, R]:
    """Adds sums in one order. OpenMP's threads would also wait for each other on a busy machine."""
    limited: Callable[P, R] = threadpool_limits.wrap(limits=1)(function)
    return limited


@_on_one_thread
def train(
    csv: Path,
    loaded: LoadedSpec,
    output: Path,
    *,
    estimator: EstimatorName,
    seed: int,
    calibrate: bool = False,
    retrains: int | None = None,
    date_column: str | None = None,
    goal_policy: Path | None = None,
    tell: Callable[[str], None] = lambda _: None,
) -> Manifest:
    """Train on a CSV with labels and write the bundle to the folder ``output``, which must not exist.

    The model leaves out the protected features that the spec does not let it read, and so do its retrains.
    ``calibrate`` maps the scores to probabilities that the labels confirm, by Platt's sigmoid. The version names the
    estimator and a hash of everything the model depends on: the same data, spec, seed and library give the same version
    and the same scores. ``retrains`` is the number of models of resamples to keep beside it; by default as many as the
    spec's promise needs. ``date_column`` names a column of dates, no feature, so that the shares of the promise
    ``retrains`` are measured on later rows. ``goal_policy`` is the file of the learned policy of a goal for rounds, to
    keep beside it. ``tell`` is given a line of text before each part that takes long, and while it goes on. Raises
    ``UsageError`` for data that cannot be trained on or are too few, a folder that holds something, an estimator that
    cannot be calibrated, a number of retrains that cannot be divided, a model that cannot carry the spec's promise, or
    a policy that is missing; ``TableError`` for data that do not fit the spec, ``ModelError`` for a policy's file that
    is none.
    """
    check_new(output)
    loaded = in_first_bounds(loaded, tell)
    count = wanted_retrains(loaded.spec, retrains)
    check_dates(loaded, date_column)
    policy = read_goal_policy(goal_policy, loaded)
    table = read_table(csv, loaded.spec)
    for line in unlabelled_in_words(table.left_out):
        tell(line)
    dates = None if date_column is None else read_dates(csv, date_column)[~table.unlabelled]
    codec = FeatureCodec(loaded.spec)
    random = np.random.RandomState(seed)
    own, recourse, held_out = split_rows(table.labels, csv, random)
    X = codec.readable(table.X)
    fitted = fit(_estimator(estimator, random, calibrate), X[own], table.labels[own])
    model = scorer(fitted, codec.dimension)
    known = ModelFacts(model)
    check_first(known, loaded)
    threshold = loaded.spec.model.threshold
    instances = accepted_rows(csv, table, recourse, model, codec)
    kept = instances[: loaded.spec.candidates]
    alike = published(loaded, kept, table)
    known = known._replace(has_instances=bool(kept), metrics=alike)
    check_first(known, loaded)
    reference = [table.rows[index] for index in own[:REFERENCE_ROWS]]
    scores = model.score(table.X[recourse])
    rejected = table.X[recourse][~accepted(scores, threshold)]
    prior = fit_improvement(loaded.spec, table.X[own], table.labels[own], seed)
    unseen = np.concatenate([recourse, held_out])
    approved = unseen[accepted(model.score(table.X[unseen]), threshold)]
    rows = Resampled(fitted, X, table.labels, len(own), random, np.random.RandomState([seed, 1]))
    refit: Callable[[], Sequence[Score]] = partial(retrained, fitted, X[unseen], table.labels[unseen], random, tell)
    unsaved = unsaved_program(codec, model.score, kept, reference, prior)
    by_cost = loaded.spec.policy.objective == "cost"
    samples: Samples | None = None
    if not by_cost or loaded.spec.policy.lasting is not None:
        samples = rows.samples(loaded.spec, model, count, tell)
        unsaved = unsaved._replace(retrains=[score_of_options(other.score) for other in samples.retrains])
        refit = refit if by_cost else samples.judge_scores
    margin, measured = wanted_margin(loaded.spec, unsaved, refit, rejected)
    # Last, so that nothing else of such a model depends on how many retrains it has.
    samples = samples or rows.samples(loaded.spec, model, count, tell)
    others = samples.retrains
    calibration, facts = _measured_share(csv, Training(codec, table, fitted, count), dates, random, tell)
    check_first(known._replace(margin=margin, retrains=others, calibration=calibration), loaded)
    promise = measured_promise(loaded.spec.promise, model, others, calibration)
    asked = round_score(loaded.spec, scores[accepted(scores, threshold)])
    measured |= measure_served(loaded.spec, unsaved, margin, rejected, promise, asked)
    turned_down = unseen[~accepted(model.score(table.X[unseen]), threshold)]
    measured |= measure_lasting(loaded.spec, unsaved, margin, table.X[turned_down], samples, promise)
    measured |= broken_rows(codec, table.rows)
    measured |= protected_use(codec, model.score, table.X[held_out])
    name = f"{'calibrated-' if calibrate else ''}{estimator.replace('_', '-')}"
    dates_used = None if isinstance(calibration, UnsetType) else date_column or ""
    return write_bundle(
        output,
        loaded.spec,
        codec.columns,
        version=_version(csv, loaded, name, seed, count, dates_used, policy),
        estimator=fitted,
        instances=kept,
        reference=reference,
        margin=margin,
        retrains=others,
        promise_calibration=calibration,
        goal_policy=policy,
        improvement=measured_improvement(prior, table.X[held_out], table.labels[held_out]),
        approved=[table.rows[index] for index in approved],
        metrics=metrics_of(table, held_out, model, threshold)
        | {"training_rows": len(own), "instances": len(instances)}
        | just_above(loaded.spec, model.score(table.X[unseen]), table.labels[unseen])
        | measured
        | table.left_out
        | facts
        | alike,
    )


def _measured_share(
    csv: Path,
    training: Training,
    dates: Floats | None,
    random: np.random.RandomState,
    tell: Callable[[str], None],
) -> ShareMeasurement:
    """The measured worth of the retrains' verdict; nothing where the spec's promise states no share."""
    if not states_share(training.codec.spec):
        return ShareMeasurement(UNSET, {})
    try:
        return measure_share(training, dates, random, tell)
    except ValueError as error:
        raise UsageError(
            f"{csv}: too few rows to measure what the promise retrains is worth under models of other rows: {error}; "
            "give more data, or a `policy.margin` instead of the promise"
        ) from None


def _estimator(name: EstimatorName, random: np.random.RandomState, calibrate: bool) -> Any:
    """An estimator that is not yet fitted."""
    estimator = ESTIMATORS[name](random)
    if not calibrate:
        return estimator
    if sklearn_type(estimator) not in CALIBRATED:
        raise UsageError(f"--calibrate: {name} cannot be calibrated; leave the flag out, or use another --estimator")
    return CalibratedClassifierCV(estimator, method="sigmoid", cv=CALIBRATION_FOLDS, ensemble=False)


def split_rows(labels: NDArray[np.int64], csv: Path, random: np.random.RandomState) -> tuple[Indices, Indices, Indices]:
    """Shuffled row indices: half to fit, a quarter for instances, a quarter held out. Raises ``UsageError``."""
    try:
        if labels.all():
            raise ValueError("one label only")
        fit, rest = train_test_split(np.arange(len(labels)), test_size=0.5, stratify=labels, random_state=random)
        recourse, held_out = train_test_split(rest, test_size=0.5, stratify=labels[rest], random_state=random)
    except ValueError:
        desired = int(labels.sum())
        raise UsageError(
            f"{csv}: {desired} rows with the desired label and {len(labels) - desired} without: too few to split 2:1:1"
        ) from None
    return fit, recourse, held_out


def accepted_rows(
    csv: Path, table: Table, recourse: Indices, model: DecisionModel, codec: FeatureCodec
) -> Sequence[Mapping[str, Value]]:
    """The rows that the model accepts and that violate no constraint of the program.

    Raises ``UsageError`` when there are none.
    """
    threshold = codec.spec.model.threshold
    scores = model.score(table.X[recourse])
    approved = accepted(scores, threshold)
    rows = (table.rows[index] for index in recourse[approved])
    kept = [row for row in rows if codec.violated_constraint(row) is None]
    if not kept and approved.any():
        raise UsageError(
            f"{csv}: each of the {approved.sum()} rows that the model accepts breaks a constraint of the spec, so none "
            "can be a recourse instance: correct the constraints, or give more data"
        )
    if not kept:
        raise UsageError(f"{csv}: {_none_accepted(scores, table.labels[recourse], threshold)}")
    return kept


def _none_accepted(scores: Floats, labels: NDArray[np.int64], threshold: float) -> str:
    """Why a model accepts nobody. A lower threshold is no advice where its scores (n,) do not go with the labels."""
    told = f"the model accepts none of the {len(scores)} rows set aside as recourse instances"
    highest = float(scores.max())
    if fit_of(scores, labels).auc < 0.5 + clearly(labels):
        return f"{told}, and its scores do not go with their labels: give more data, or features that tell people apart"
    shown = rounded_down(highest, digits_apart(highest, threshold))
    return f"{told}, their highest score is {shown}: lower model.threshold ({threshold}) below it, or give more data"


def published(loaded: LoadedSpec, instances: Rows, table: Table) -> dict[str, float]:
    """How many rows of the data are alike, for the manifest of a program that copies instances; nothing for others."""
    return {ALIKE: float(fewest_alike(instances, table.rows))} if copies_rows(loaded.spec) else {}


def metrics_of(table: Table, held_out: Indices, model: DecisionModel, threshold: float) -> dict[str, float]:
    """How good a model is on the rows ``held_out`` of a table, for its manifest."""
    score, label = model.score(table.X[held_out]), table.labels[held_out]
    approved = accepted(score, threshold).astype(np.int64)
    return {
        "accuracy": float(accuracy_score(label, approved)),
        "balanced_accuracy": float(balanced_accuracy_score(label, approved)),
        "roc_auc": float(roc_auc_score(label, score)),
        "brier_score": float(brier_score_loss(label, score)),
        "approval_rate": float(approved.mean()),
        "desired_rate": float(label.mean()),
        "held_out_rows": float(len(held_out)),
    }


def _version(
    csv: Path, loaded: LoadedSpec, name: str, seed: int, retrains: int, dates: str | None, policy: bytes | None
) -> str:
    parts = [hashlib.sha256(csv.read_bytes()).hexdigest(), loaded.sha256, name.replace("-", "_"), str(seed)]
    parts += [sklearn.__version__, *([f"retrains {retrains}"] if retrains else [])]
    parts += [f"leaves out {feature}" for feature in loaded.spec.barred]
    parts += [] if dates is None else [f"kept aside {dates}"]
    parts += [] if policy is None else [f"goal policy {hashlib.sha256(policy).hexdigest()}"]
    digest = hashlib.sha256("\n".join(parts).encode()).hexdigest()
    return f"{name}-{digest[:12]}"

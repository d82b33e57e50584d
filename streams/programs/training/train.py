"""Training a program's first model from a data file.

The rows are split 2:1:1, stratified by label, as in ARLIM (Kanamori et al. 2025, section 6.1). One half fits the model.
Of one quarter, the rows that the model accepts become the recourse instances. The last quarter measures the model.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
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
from sklearn.model_selection import train_test_split
from sklearn.neural_network import MLPClassifier
from threadpoolctl import threadpool_limits

from ....schemas.encoding import FeatureCodec
from ....schemas.specfile import LoadedSpec
from ...errors import UsageError
from ..bundle.manifest import Manifest
from ..bundle.writer import check_new
from ..models.calibration import CALIBRATED, sklearn_type
from ..models.scoring import scorer
from .dates import read_dates
from .first_bounds import in_first_bounds
from .fitting import fit
from .goal_policy import read_goal_policy
from .kept_aside import RepeatedTraining
from .margin import retrained
from .resampled import ModelSamples, Resampled
from .retrains import check_dates, states_share, wanted_retrains
from .row_uses import RowUses, labelled
from .share_calibration import ShareMeasurement, measure_share
from .trained import Trained
from .unsaved_program import Score
from .write import write_trained

Floats = NDArray[np.float64]
Indices = NDArray[np.intp]
P = ParamSpec("P")
R = TypeVar("R")
EstimatorName = Literal["random_forest", "logistic_regression", "mlp", "gradient_boosting"]

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
    estimator and a hash of everything that the model depends on. ``retrains`` is the number of models of resamples to
    keep beside it; by default as many as the spec's promise needs. ``date_column`` names a column of dates, no feature,
    so that the shares of the promise ``retrains`` are measured on later rows. ``goal_policy`` is the file of the
    learned policy of a goal for rounds. ``tell`` is given a line of text before each part that takes long.
    Raises ``UsageError`` for data that cannot be trained on, a folder that holds something, an option that cannot be
    followed, or a model that cannot carry the spec's promise; ``TableError`` for data that do not fit the spec,
    ``ModelError`` for a policy's file that is none.
    """
    check_new(output)
    loaded = in_first_bounds(loaded, tell)
    count = wanted_retrains(loaded.spec, retrains)
    check_dates(loaded, date_column)
    policy = read_goal_policy(goal_policy, loaded)
    dates = partial(read_dates, csv, date_column) if date_column is not None else None
    trained = fit_model(csv, loaded, estimator, seed, calibrate=calibrate, retrains=count, dates=dates, tell=tell)
    name = f"{'calibrated-' if calibrate else ''}{estimator.replace('_', '-')}"
    version = partial(_version, csv, loaded, name, seed, count, date_column, policy)
    return write_trained(replace(trained, version=version, goal_policy=policy), output)


def fit_model(
    csv: Path,
    loaded: LoadedSpec,
    estimator: EstimatorName,
    seed: int,
    *,
    calibrate: bool,
    retrains: int,
    dates: Callable[[], Floats] | None,
    tell: Callable[[str], None],
) -> Trained:
    """A model that is fitted on half of the rows of a file; it has no name yet.

    ``dates`` gives those of all its rows. Raises ``UsageError`` and ``TableError`` as ``train``.
    """
    table, codec, random = labelled(csv, loaded, tell), FeatureCodec(loaded.spec), np.random.RandomState(seed)
    known = None if dates is None else dates()[~table.unlabelled]
    trained, recourse, held_out = split_rows(table.labels, csv, random, int(table.unlabelled.sum()))
    split = RowUses(trained, trained, held_out, recourse, np.concatenate([recourse, held_out]), held_out)
    X = codec.readable(table.X)
    fitted = fit(_estimator(estimator, random, calibrate), X[trained], table.labels[trained])
    model = scorer(fitted, codec.dimension)
    rows = Resampled(fitted, X, table.labels, len(trained), random, np.random.RandomState([seed, 1]))

    def refit(samples: ModelSamples | None) -> Sequence[Score]:
        if samples is not None and loaded.spec.policy.objective != "cost":
            return samples.judge_scores()
        return retrained(fitted, X[split.unseen], table.labels[split.unseen], random, tell)

    return Trained(
        csv,
        loaded,
        table,
        codec,
        model,
        fitted,
        split,
        seed,
        refit,
        partial(rows.samples, loaded.spec, model, retrains, tell),
        partial(_measured_share, csv, RepeatedTraining(codec, table, fitted, retrains), known, random, tell),
        training_rows=len(trained),
    )


def _measured_share(
    csv: Path,
    training: RepeatedTraining,
    dates: Floats | None,
    random: np.random.RandomState,
    tell: Callable[[str], None],
) -> ShareMeasurement:
    """The measured worth of the retrains' verdict; nothing where the spec's promise states no share."""
    if not states_share(training.codec.spec):
        return ShareMeasurement(UNSET, None)
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


def split_rows(
    labels: NDArray[np.int64], csv: Path, random: np.random.RandomState, unlabelled: int = 0
) -> tuple[Indices, Indices, Indices]:
    """Shuffled row indices: half to fit, a quarter for instances, a quarter held out.

    Raises ``UsageError``, which tells how many rows of the file are ``unlabelled``.
    """
    try:
        if labels.all():
            raise ValueError("one label only")
        fit, rest = train_test_split(np.arange(len(labels)), test_size=0.5, stratify=labels, random_state=random)
        recourse, held_out = train_test_split(rest, test_size=0.5, stratify=labels[rest], random_state=random)
    except ValueError:
        desired = int(labels.sum())
        message = f"{csv}: {desired} rows with the desired label and {len(labels) - desired} without"
        if unlabelled:
            message += f", and {unlabelled} whose label is not given, which say nothing of what came of them"
        raise UsageError(f"{message}: too few to split 2:1:1") from None
    return fit, recourse, held_out


def _version(
    csv: Path,
    loaded: LoadedSpec,
    name: str,
    seed: int,
    retrains: int,
    date_column: str | None,
    policy: bytes | None,
    share: ShareMeasurement,
) -> str:
    parts = [hashlib.sha256(csv.read_bytes()).hexdigest(), loaded.sha256, name.replace("-", "_"), str(seed)]
    parts += [sklearn.__version__, *([f"retrains {retrains}"] if retrains else [])]
    parts += [f"leaves out {feature}" for feature in loaded.spec.barred]
    parts += [] if isinstance(share.calibration, UnsetType) else [f"kept aside {date_column or ''}"]
    parts += [] if policy is None else [f"goal policy {hashlib.sha256(policy).hexdigest()}"]
    digest = hashlib.sha256("\n".join(parts).encode()).hexdigest()
    return f"{name}-{digest[:12]}"

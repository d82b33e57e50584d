"""Importing a classifier in ONNX as the model of a program.

The model is not fitted. Every row of the data is scored: those that the model accepts become the recourse instances,
and all of them measure it. What says whether changes help is fitted to their labels.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.linear_model import LogisticRegression
from threadpoolctl import threadpool_limits

from ....agents.goals import accepted
from ....agents.scores import Score, digits_apart, rounded_down
from ....agents.trees import TreeSum
from ....schemas.encoding import FeatureCodec
from ....schemas.specfile import LoadedSpec
from ....schemas.table import Table, read_table
from ...errors import ModelError, UsageError, one_line
from ..assembly import check_linear, check_protected
from ..bundle.manifest import Manifest
from ..bundle.model_files import read_local
from ..bundle.writer import check_new, write_bundle
from ..limited_places import round_score
from ..models.row_independence import keeps_rows_apart
from ..models.scoring import scorer
from ..onnx.check import parse_onnx
from ..onnx.inputs import difference, features_lacking
from ..onnx.model import OnnxModel, independent_model
from ..onnx.outputs import desired_column, with_one_output
from ..onnx.trees import flattened
from ..promised import measured_promise, needs_retrains
from .fitting import fit
from .goal_policy import read_goal_policy
from .improvement import fit_improvement, measured_improvement
from .margin import retrained, wanted_margin
from .protected import protected_use
from .retrains import RETRAINS, check_carries, check_number
from .served import broken_rows, measure_served
from .train import ESTIMATORS, REFERENCE_ROWS, accepted_rows, metrics_of, published
from .unsaved_program import unsaved_program

Floats = NDArray[np.float64]

CHECKED_ROWS = 2000
"""Rows on which flattened trees must score as onnxruntime does."""
FITTED = 0.75
"""The share of the rows that say whether changes help. The others measure how far that can be believed."""
FLOAT32_ROUNDING = 1e-5
"""How far sums of float32 may be from those of float64."""


SURROGATES: Sequence[Callable[[np.random.RandomState], Any]] = (
    *ESTIMATORS.values(),
    lambda random: LogisticRegression(C=100.0, max_iter=1000, random_state=random),
)
"""Estimators in place of an imported model: those of ``onward train``, and a logistic regression that is hardly
penalised, as it is after features were standardised."""


def import_model(
    file: Path,
    csv: Path,
    loaded: LoadedSpec,
    output: Path,
    *,
    seed: int,
    probabilities: str | None = None,
    retrains: Sequence[Path] = (),
    goal_policy: Path | None = None,
    tell: Callable[[str], None] = lambda _: None,
) -> Manifest:
    """Write the bundle of an ONNX file to the folder ``output``, which must not exist.

    ``probabilities`` names the output where several could be it. ``seed`` decides the order of the instances, and the
    models that measure the margin; ``tell`` is given a line of text before that. ``retrains`` are files of the same
    classifier, fitted again on resamples of its data, by which a promise is measured. ``goal_policy`` is the file of
    the learned policy of a goal for rounds. Raises ``ModelError`` when a file is refused, ``TableError`` for wrong
    data, ``UsageError`` for too few retrains, and for a policy that is missing.
    """
    check_new(output)
    _check_retrains(loaded, retrains)
    policy = read_goal_policy(goal_policy, loaded)
    table, codec = read_table(csv, loaded.spec), FeatureCodec(loaded.spec)
    content = read_local(file)
    model = _checked_model(file, content, codec, table, probabilities)
    scores = model.score(table.X)
    check_linear(model.score, loaded)
    check_carries(model, loaded)
    check_protected(model, loaded, codec)
    again = [_retrain(each, model, codec, table, probabilities) for each in retrains]
    random = np.random.RandomState(seed)
    order = random.permutation(len(table.rows))
    instances = accepted_rows(csv, table, order, model, codec)[: loaded.spec.candidates]
    alike = published(loaded, instances, table)
    reference = [table.rows[index] for index in order[:REFERENCE_ROWS]]
    approved = accepted(scores, loaded.spec.model.threshold)
    rejected = table.X[order][~approved[order]]
    fitted, held_out = np.split(order, [round(FITTED * len(order))])
    with threadpool_limits(1):
        prior = fit_improvement(loaded.spec, table.X[fitted], table.labels[fitted], seed)
    refit = partial(surrogates, scores, codec.readable(table.X), table.labels, random)
    unsaved = unsaved_program(codec, model.score, instances, reference, prior)
    margin, measured = wanted_margin(loaded.spec, unsaved, refit, rejected, tell)
    promise = measured_promise(loaded.spec.promise, model, again)
    asked = round_score(loaded.spec, scores[approved])
    measured |= measure_served(loaded.spec, unsaved, margin, rejected, promise, asked)
    measured |= broken_rows(codec, table.rows)
    measured |= protected_use(codec, model.score, table.X[order])
    return write_bundle(
        output,
        loaded.spec,
        codec.columns,
        version=f"onnx-{_digest([content, *map(read_local, retrains), policy], csv, loaded, seed)}",
        estimator=model,
        instances=instances,
        reference=reference,
        margin=margin,
        retrains=again,
        goal_policy=policy,
        improvement=measured_improvement(prior, table.X[held_out], table.labels[held_out]),
        approved=[table.rows[index] for index in np.flatnonzero(approved)],
        metrics=metrics_of(table, order, model, loaded.spec.model.threshold)
        | {"instances": len(instances)}
        | measured
        | alike,
    )


def onnx_model(
    content: bytes, codec: FeatureCodec, X: Floats, probabilities: str | None = None, *, flatten: bool = True
) -> TreeSum | OnnxModel:
    """The model of an ONNX file's bytes, checked on encoded rows ``X`` (n, D).

    One tree ensemble over encoded columns becomes a ``TreeSum``, when its scores are those of onnxruntime, unless
    ``flatten`` is false. Raises ValueError with the reason when the file is refused.
    """
    parsed = parse_onnx(content)
    column = desired_column(parsed, codec.spec.label.desired)
    with_one_output(parsed, probabilities)
    model = independent_model(parsed, column, codec.dimension, codec, X)
    if model.features is not None and features_lacking(model.features, codec.spec.features):
        raise ValueError(difference(model.features, codec.spec.features))
    trees = flattened(parsed, column, codec.dimension) if flatten else None
    if trees is None or not _agree(trees, model, X[:CHECKED_ROWS]):
        return model
    return trees


def surrogates(scores: Floats, X: Floats, labels: NDArray[np.int64], random: np.random.RandomState) -> list[Score]:
    """Retrained models in place of those of an imported one, which cannot be fitted.

    They are of the kind among ``SURROGATES`` whose scores, fitted on one half of the rows (n, D), are nearest to
    ``scores`` (n,) on the other half: the smallest mean absolute difference.
    """
    half = random.permutation(len(scores)) % 2 == 0
    with threadpool_limits(1):
        fitted = [fit(build(random), X[half], labels[half]) for build in SURROGATES]
        away = [np.abs(scorer(each, X.shape[1]).score(X[~half]) - scores[~half]).mean() for each in fitted]
        return retrained(fitted[int(np.argmin(away))], X, labels, random)


def _agree(trees: TreeSum, model: OnnxModel, X: Floats) -> bool:
    return keeps_rows_apart(trees.score, X) and bool(np.abs(trees.score(X) - model.score(X)).max() <= FLOAT32_ROUNDING)


def _check_retrains(loaded: LoadedSpec, retrains: Sequence[Path]) -> None:
    """Raise ``UsageError`` where a promise lacks retrained models, or there is no use for their number."""
    check_number("--retrain", len(retrains))
    if needs_retrains(loaded.spec) and not retrains:
        raise UsageError(
            f"{loaded.path}: the promise {loaded.spec.promise.kind} needs retrained models, and an ONNX file cannot be "
            f"fitted: give an even number of files after --retrain, better {RETRAINS} than few"
        )
    contents = [read_local(file) for file in retrains]
    for number, (file, content) in enumerate(zip(retrains, contents, strict=True)):
        if content in contents[:number]:
            raise UsageError(f"--retrain {file}: it equals an earlier one; each must be fitted on its own resample")


def _retrain(
    file: Path, model: TreeSum | OnnxModel, codec: FeatureCodec, table: Table, probabilities: str | None
) -> TreeSum | OnnxModel:
    """A retrain of a model, of its kind."""
    flat = isinstance(model, TreeSum)
    retrain = _checked_model(file, read_local(file), codec, table, probabilities, flatten=flat)
    if flat != isinstance(retrain, TreeSum):
        raise ModelError(f"{file}: it is not a tree ensemble like the model: give retrains of the same classifier")
    return retrain


def _checked_model(
    file: Path,
    content: bytes,
    codec: FeatureCodec,
    table: Table,
    probabilities: str | None,
    *,
    flatten: bool = True,
) -> TreeSum | OnnxModel:
    """The model of a file, whose scores of the table are probabilities of the desired class."""
    try:
        model = onnx_model(content, codec, table.X, probabilities, flatten=flatten)
        _check_scores(model.score(table.X), table.labels)
    except ValueError as error:
        raise ModelError(f"{file}: {one_line(error)}") from None
    return model


def _check_scores(scores: Floats, labels: NDArray[np.int64]) -> None:
    low, high = float(scores.min()), float(scores.max())
    if not (low >= 0.0 and high <= 1.0):
        raise ValueError(f"its scores of the data go from {low:g} to {high:g}; a model gives probabilities")
    if low == high:
        raise ValueError(f"it gives every row of the data the score {low:g}")
    good, bad = scores[labels == 1], scores[labels == 0]
    if len(bad) and good.mean() < bad.mean():
        means = float(good.mean()), float(bad.mean())
        desired, others = (rounded_down(mean, digits_apart(*means)) for mean in means)
        raise ValueError(
            f"rows with the desired label have a mean score of {desired}, the others of {others}: "
            "its classes are the other way round; fit it with the desired outcome as class 1"
        )


def _digest(contents: Sequence[bytes | None], csv: Path, loaded: LoadedSpec, seed: int) -> str:
    data = hashlib.sha256(csv.read_bytes()).hexdigest()
    files = (content for content in contents if content is not None)
    parts = (*(hashlib.sha256(content).hexdigest() for content in files), data, loaded.sha256, str(seed))
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()[:12]

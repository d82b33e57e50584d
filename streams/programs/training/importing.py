"""Importing a classifier in ONNX as the model of a program.

The model is not fitted. Every row of the data is scored: those that the model accepts become the recourse instances,
and all of them measure it. What says whether changes help is fitted to their labels.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from sklearn.linear_model import LogisticRegression
from threadpoolctl import threadpool_limits

from ....agents.goals import accepted
from ....agents.scores import Score
from ....schemas.encoding import FeatureCodec
from ....schemas.specfile import LoadedSpec
from ....schemas.table import read_table, unlabelled_in_words
from ...errors import UsageError
from ..assembly import check_first
from ..bundle.manifest import Manifest
from ..bundle.model_files import read_local
from ..bundle.writer import check_new, write_bundle
from ..limited_places import round_score
from ..model_fit import ModelFacts
from ..models.scoring import score_of_options, scorer
from ..onnx.matrix import Stated
from ..promised import measured_promise, needs_retrains
from .fitting import fit
from .goal_policy import read_goal_policy
from .imported_model import Importer
from .improvement import fit_improvement, measured_improvement
from .lasting import measure_lasting
from .margin import Tell, retrained, wanted_margin
from .protected import protected_use
from .resampled import Samples
from .retrains import RETRAINS, check_number
from .served import broken_rows, just_above, measure_served
from .train import ESTIMATORS, REFERENCE_ROWS, accepted_rows, metrics_of, published
from .unsaved_program import unsaved_program

if TYPE_CHECKING:
    pass

Floats = NDArray[np.float64]

CHECKED_ROWS = 2000
"""Rows on which flattened trees must score as onnxruntime does."""
FITTED = 0.75
"""The share of the rows that say whether changes help. The others measure how far that can be believed."""

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
    columns: Stated | None = None,
    retrains: Sequence[Path] = (),
    goal_policy: Path | None = None,
    tell: Callable[[str], None] = lambda _: None,
) -> Manifest:
    """Write the bundle of an ONNX file to the folder ``output``, which must not exist.

    ``probabilities`` names the output where several could be it, and ``columns`` says what a matrix holds where that is
    not found out. ``seed`` decides the order of the instances, and the
    models that measure the margin; ``tell`` is given a line of text before that. ``retrains`` are files of the same
    classifier, fitted again on resamples of its data, by which a promise is measured. ``goal_policy`` is the file of
    the learned policy of a goal for rounds. Raises ``ModelError`` when a file is refused, ``TableError`` for wrong
    data, ``UsageError`` for too few retrains, and for a policy that is missing.
    """
    check_new(output)
    _check_retrains(loaded, retrains)
    policy = read_goal_policy(goal_policy, loaded)
    table, codec = read_table(csv, loaded.spec), FeatureCodec(loaded.spec)
    for line in unlabelled_in_words(table.left_out):
        tell(line)
    content = read_local(file)
    importer = Importer(codec, table, probabilities)
    model = importer.model(file, content, columns, tell)
    scores = model.score(table.X)
    known = ModelFacts(model)
    check_first(known, loaded)
    again = [importer.retrain(each, model) for each in retrains]
    random = np.random.RandomState(seed)
    order = random.permutation(len(table.rows))
    instances = accepted_rows(csv, table, order, model, codec)[: loaded.spec.candidates]
    alike = published(loaded, instances, table)
    known = known._replace(has_instances=bool(instances), metrics=alike, retrains=again)
    check_first(known, loaded)
    reference = [table.rows[index] for index in order[:REFERENCE_ROWS]]
    approved = accepted(scores, loaded.spec.model.threshold)
    rejected = table.X[order][~approved[order]]
    fitted, held_out = np.split(order, [round(FITTED * len(order))])
    with threadpool_limits(1):
        prior = fit_improvement(loaded.spec, table.X[fitted], table.labels[fitted], seed)
    refit = partial(surrogates, scores, codec.readable(table.X), table.labels, random, tell)
    unsaved = unsaved_program(codec, model.score, instances, reference, prior)
    unsaved = unsaved._replace(retrains=[score_of_options(each.score) for each in again])
    margin, measured = wanted_margin(loaded.spec, unsaved, refit, rejected)
    check_first(known._replace(margin=margin), loaded)
    promise = measured_promise(loaded.spec.promise, model, again)
    asked = round_score(loaded.spec, scores[approved])
    measured |= measure_served(loaded.spec, unsaved, margin, rejected, promise, asked)
    samples = Samples.given(loaded.spec, model, again)
    measured |= measure_lasting(loaded.spec, unsaved, margin, rejected, samples, promise)
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
        | just_above(loaded.spec, scores, table.labels)
        | measured
        | alike,
    )


def surrogates(
    scores: Floats,
    X: Floats,
    labels: NDArray[np.int64],
    random: np.random.RandomState,
    tell: Tell = lambda _: None,
) -> list[Score]:
    """Retrained models in place of those of an imported one, which cannot be fitted.

    They are of the kind among ``SURROGATES`` whose scores, fitted on one half of the rows (n, D), are nearest to
    ``scores`` (n,) on the other half: the smallest mean absolute difference.
    """
    half = random.permutation(len(scores)) % 2 == 0
    with threadpool_limits(1):
        fitted = [fit(build(random), X[half], labels[half]) for build in SURROGATES]
        away = [np.abs(scorer(each, X.shape[1]).score(X[~half]) - scores[~half]).mean() for each in fitted]
        return retrained(fitted[int(np.argmin(away))], X, labels, random, tell)


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


def _digest(contents: Sequence[bytes | None], csv: Path, loaded: LoadedSpec, seed: int) -> str:
    data = hashlib.sha256(csv.read_bytes()).hexdigest()
    files = (content for content in contents if content is not None)
    parts = (*(hashlib.sha256(content).hexdigest() for content in files), data, loaded.sha256, str(seed))
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()[:12]

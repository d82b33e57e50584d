"""Importing a classifier in ONNX as the model of a program.

The model is not fitted. Every row of the data is scored: those that the model accepts become the recourse instances,
and all of them measure it. What says whether changes help is fitted to their labels.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.linear_model import LogisticRegression
from threadpoolctl import threadpool_limits

from ....agents.scores import Score
from ....schemas.encoding import FeatureCodec
from ....schemas.specfile import LoadedSpec
from ...errors import UsageError
from ..bundle.manifest import Manifest
from ..bundle.model_files import read_local
from ..bundle.writer import check_new
from ..models.scoring import scorer
from ..onnx.matrix import Stated
from ..promised import needs_retrains
from .fitting import fit
from .goal_policy import read_goal_policy
from .imported_model import Importer
from .margin import Tell, retrained
from .resampled import ModelSamples
from .retrains import RETRAINS, check_number
from .row_uses import RowUses, labelled
from .train import ESTIMATORS
from .trained import Trained
from .write import write_trained

Floats = NDArray[np.float64]

CHECKED_ROWS = 2000
"""Rows on which flattened trees must score as onnxruntime does."""
HELPING = 0.75
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
    content = read_local(file)
    trained = read_model(
        file, content, csv, loaded, seed, probabilities=probabilities, columns=columns, retrains=retrains, tell=tell
    )
    digest = _digest([content, *map(read_local, retrains), policy], csv, loaded, seed)
    return write_trained(replace(trained, version=lambda _: f"onnx-{digest}", goal_policy=policy), output)


def read_model(
    file: Path,
    content: bytes,
    csv: Path,
    loaded: LoadedSpec,
    seed: int,
    *,
    probabilities: str | None,
    columns: Stated | None,
    retrains: Sequence[Path],
    tell: Tell,
) -> Trained:
    """The model of an ONNX ``file`` with this ``content``, and the rows that measure it; it has no name yet.

    Raises ``ModelError`` and ``TableError`` as ``import_model``.
    """
    table, codec = labelled(csv, loaded, tell), FeatureCodec(loaded.spec)
    importer = Importer(codec, table, probabilities)
    model = importer.model(file, content, columns, tell)
    again = [importer.retrain(fitted, model) for fitted in retrains]
    random = np.random.RandomState(seed)
    order = random.permutation(len(table.rows))
    helping, held_out = np.split(order, [round(HELPING * len(order))])

    def refit(_: ModelSamples | None) -> Sequence[Score]:
        return surrogates(model.score(table.X), codec.readable(table.X), table.labels, random, tell)

    return Trained(
        csv,
        loaded,
        table,
        codec,
        model,
        model,
        RowUses(order, helping, held_out, order, np.arange(len(order)), order),
        seed,
        refit,
        partial(ModelSamples.given, loaded.spec, model, again),
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
        away = [np.abs(scorer(surrogate, X.shape[1]).score(X[~half]) - scores[~half]).mean() for surrogate in fitted]
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

"""The retrains of a new model: what promises are measured on, and options are searched under."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from itertools import islice
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from ....agents import promises
from ....schemas.spec import ProgramSpec
from ....schemas.specfile import LoadedSpec
from ...errors import UsageError
from ..bundle.retrains import FEWEST, retrain_of
from ..models.scoring import DecisionModel
from ..promised import needs_retrains
from .fitting import fit
from .seeding import seeded

Floats = NDArray[np.float64]

RETRAINS = 40
"""As many as training fits where the spec's promise needs them."""
LASTING = 16
"""As many as it fits where options should last under them (``policy.lasting``)."""
MOST_DRAWN = 2000
"""Rows of a resample, where nothing is stated by its models: of large files others would take too long and too much
memory. Models of fewer rows differ more, so that what they all accept lasts rather longer."""

SHARE = 2 / 3
"""The size of a resample, of that of the rows that the model was fitted on.

Let V be the variance of the parameters of a model of this many rows. A later model of other rows differs from this one
by 2 V. A model of a resample of all rows, half of which this one was fitted on, differs by V / 2 for the rows and by V
over this share for the resample: also 2 V. Resamples of the rows that it was fitted on agree with it too much. Those of
the other half share the accident of that half, so options that some of them choose pass the others too easily."""


def wanted_retrains(spec: ProgramSpec, asked: int | None) -> int:
    """How many retrains to fit: those that were ``asked`` for.

    By default they are ``RETRAINS`` where the promise needs them, ``LASTING`` where options should last under them.

    Raises ``UsageError`` for an odd number, a negative one, for too many, and for none where the promise needs
    some.
    """
    if asked is None:
        return RETRAINS if needs_retrains(spec) else LASTING if spec.policy.lasting is not None else 0
    if asked == 0 and needs_retrains(spec):
        raise UsageError(f"--retrains: the promise {spec.promise.kind} needs some: give {RETRAINS}, or no flag")
    check_number("--retrains", asked)
    return asked


MOST_RETRAINS = 1000
"""Many more than any estimate of a promise gains from."""


def check_number(flag: str, count: int) -> None:
    """Raise ``UsageError`` for a number of retrains that cannot be divided between choosing and certifying."""
    if count > MOST_RETRAINS:
        raise UsageError(f"{flag}: {count} retrains take long and tell no more: give at most {MOST_RETRAINS}")
    if count and (count < FEWEST or count % 2):
        raise UsageError(
            f"{flag}: {count} retrains cannot be divided: half of them choose options and half certify them; "
            f"give an even number from {FEWEST} on, better from {RETRAINS // 2} on"
        )


def states_share(spec: ProgramSpec) -> bool:
    """Whether a spec's promise states a share of models, which is measured on rows kept aside."""
    return issubclass(promises.registry[spec.promise.kind], promises.Certified)


def check_dates(loaded: LoadedSpec, column: str | None) -> None:
    """Raise ``UsageError`` where dates are given and nothing is measured by them."""
    if column is not None and not states_share(loaded.spec):
        kinds = [name for name, kind in promises.registry.items() if issubclass(kind, promises.Certified)]
        asked = " or ".join(f"`promise: {{kind: {name}}}`" for name in kinds)
        raise UsageError(f"--date-column: {loaded.path} does not ask for {asked}, which needs it")


def fit_retrains(
    estimator: Any,
    X: Floats,
    labels: NDArray[np.int64],
    count: int,
    fitted_on: int,
    random: np.random.RandomState,
    most: int = sys.maxsize,
) -> list[DecisionModel]:
    """Models of ``count`` resamples of all rows (n, D) and labels (n,) of a file.

    ``estimator`` was fitted on ``fitted_on`` of the rows. A resample has at most ``most`` rows.
    """
    fits = islice(refitted(estimator, X, labels, min(round(SHARE * fitted_on), most), random), count)
    return [retrain_of(fitted, X.shape[1]) for fitted in fits]


def refitted(
    estimator: Any, X: Floats, labels: NDArray[np.int64], size: int, random: np.random.RandomState
) -> Iterator[Any]:
    """The estimator fitted again, without end, each on a resample of ``size`` of the rows (n, D) and (n,)."""
    while True:
        rows = random.randint(len(X), size=size)
        if len(np.unique(labels[rows])) == 2:
            model = seeded(clone(estimator), random.randint(2**31 - 1))
            yield fit(model, X[rows], labels[rows])

"""Models for programs of ``programs.py`` that accept fewer people than the first one."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from sklearn.linear_model import LogisticRegression

from onward.schemas.encoding import FeatureCodec
from onward.schemas.specfile import load_spec
from onward.streams.programs.bundle.writer import write_bundle
from onward.tests.support.programs import features


def write_stricter(folder: Path, spec: Path, stricter: float = 0.0, estimator: Any = None) -> str:
    """Write a bundle whose log odds are lower by ``stricter``, or another estimator's; return its manifest.

    The folder's name is the version.
    """
    own = load_spec(spec).spec
    codec, random = FeatureCodec(own), np.random.default_rng(7)
    rows = [features(random, max_income=101) for _ in range(300)]
    X = codec.encode_many(rows)
    fitted = (LogisticRegression(C=100.0) if estimator is None else estimator).fit(X, X[:, 2] - 0.3 * X[:, 3] > 0.5)
    if estimator is None:
        fitted.intercept_ -= stricter
    write_bundle(
        folder,
        own,
        codec.columns,
        version=folder.name,
        estimator=fitted,
        instances=rows[:1],
        reference=rows,
    )
    return str(folder / "manifest.json")

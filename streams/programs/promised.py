"""The promise that a program's spec asks for, with what its model's bundle has measured for it."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from msgspec import UNSET, UnsetType

from ...agents import promises
from ...agents.promises import Promise, RetrainsPromise, ShareCalibration, drift_ellipsoid, drift_radius
from ...agents.scores import LinearScore, Score
from ...schemas.spec import ProgramSpec, PromiseTerms
from .bundle.loader import ModelBundle
from .bundle.manifest import PromiseCalibration
from .models.scoring import DecisionModel, score_of_options

TAKEN_BY: Mapping[str, tuple[str, ...]] = {
    "norm": ("lp",),
    "radius": ("lp", "ellipsoid"),
    "quantile": ("lp", "ellipsoid", "retrains"),
}
"""The promises that take these fields of a spec's ``promise``."""

NO_RETRAINS = "model {} has no retrains, which the promise {} needs: train a new one with `onward train --retrains 40`"


def promise_of(spec: ProgramSpec, bundle: ModelBundle) -> Promise:
    """The promise of a program under a model; raise ``ValueError`` with the reason when the model cannot carry it."""
    terms = spec.promise
    if fault := promises.registry[terms.kind](**_parameters(terms)).misfit(bundle.model.score):
        raise ValueError(f"model {bundle.version}: {fault}")
    if lacks_retrains(spec, bundle):
        raise ValueError(NO_RETRAINS.format(bundle.version, terms.kind))
    return measured_promise(terms, bundle.model, bundle.retrains, bundle.manifest.promise_calibration)


def measured_promise(
    terms: PromiseTerms,
    model: DecisionModel,
    retrains: Sequence[DecisionModel],
    measured: PromiseCalibration | UnsetType = UNSET,
) -> Promise:
    """The promise of a spec under a model that can carry it, measured on its retrains as far as it needs them.

    ``measured`` says what the verdict of the retrains is worth under models of other rows.
    """
    promise = promises.registry[terms.kind](**_parameters(terms))
    artefacts = _artefacts(terms, promise.needs, model.score, retrains)
    if isinstance(promise, RetrainsPromise):
        artefacts["calibration"] = _calibration(terms, measured)
    promise.equip(**artefacts)
    return promise


def replaces_margin(terms: PromiseTerms) -> bool:
    """Whether options are searched on a score of the promise, which a margin of the model's own would only repeat."""
    return promises.registry[terms.kind].robust is not Promise.robust


def needs_retrains(spec: ProgramSpec) -> bool:
    """Whether a spec's promise needs retrains of its models."""
    needs = promises.registry[spec.promise.kind].needs
    return bool(needs) and (needs != {"radius"} or spec.promise.radius == "auto")


def lacks_retrains(spec: ProgramSpec, bundle: ModelBundle) -> bool:
    """Whether a spec's promise needs retrains that a bundle does not have."""
    return needs_retrains(spec) and not bundle.retrains


def _calibration(terms: PromiseTerms, measured: PromiseCalibration | UnsetType) -> ShareCalibration | None:
    """What was measured of a promise on these terms; None where nothing was."""
    if isinstance(measured, UnsetType) or (measured.quantile, measured.margin) != (terms.quantile, terms.margin):
        return None
    return ShareCalibration(measured.shares, measured.bounds, measured.models, measured.rows)


def _parameters(terms: PromiseTerms) -> dict[str, float]:
    """The keywords of the promise's constructor."""
    norm = math.inf if terms.norm == "inf" else float(terms.norm)
    given = {"norm": norm, "delta": terms.quantile}
    return {name: given[name] for name in promises.registry[terms.kind].parameters() if name in given}


def _artefacts(
    terms: PromiseTerms, needs: frozenset[str], score: Score, retrains: Sequence[DecisionModel]
) -> dict[str, Any]:
    """What a promise ``needs``, by name."""
    if not needs or (needs == {"radius"} and terms.radius != "auto"):
        return {"radius": terms.radius} if needs else {}
    scores = [score_of_options(model.score) for model in retrains]
    if "choosing" in needs:
        return {"choosing": scores[::2], "certifying": scores[1::2]}
    linear = [each for each in scores if isinstance(each, LinearScore)]
    assert isinstance(score, LinearScore), f"{terms.kind} is for linear scores"
    weights, bias = np.array([each.weights for each in linear]), np.array([each.bias for each in linear])
    share = 1.0 - terms.quantile
    if "covariance" not in needs:
        return {"radius": drift_radius(score, weights, bias, _parameters(terms)["norm"], share)}
    ellipsoid = drift_ellipsoid(score, weights, bias, share)
    return {
        "covariance": ellipsoid.covariance,
        "radius": ellipsoid.radius if terms.radius == "auto" else terms.radius,
    }

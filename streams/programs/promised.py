"""The promise that a program's spec asks for, with what its model's bundle has measured for it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from msgspec import UNSET, UnsetType

from ...agents import promises
from ...agents.promises import Certified, NoPromise, Promise, ShareCalibration
from ...schemas.spec import ProgramSpec, PromiseTerms
from .. import answers as answers
from .bundle.loader import ModelBundle
from .bundle.manifest import PromiseCalibration
from .models.scoring import DecisionModel, score_of_options

FIELDS = ("norm", "radius", "quantile")
"""The parameters of promises that are fields of a spec's ``promise``. The others stand in ``promise.parameters``."""

NO_RETRAINS = "model {} has no retrains, which the promise {} needs: train a new one with `onward train --retrains 40`"


def has_promise(spec: ProgramSpec) -> bool:
    """Whether the options of a program are promised to survive a new model."""
    return spec.promise.kind != NoPromise.name


def promise_on(terms: PromiseTerms) -> Promise:
    """The promise of a spec, before anything is measured for it."""
    kind = promises.registry[terms.kind]
    given = {name: getattr(terms, name) for name in FIELDS} | dict(terms.parameters or {})
    return kind(**{name: given[name] for name in kind.parameters() if name in given})


def promise_of(spec: ProgramSpec, bundle: ModelBundle) -> Promise:
    """The promise of a program under a model; raise ``ValueError`` with the reason when the model cannot carry it."""
    terms = spec.promise
    if fault := promise_on(terms).misfit(bundle.model.score):
        raise ValueError(f"model {bundle.version}: {fault}")
    if needs_retrains(spec) and not bundle.retrains:
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
    promise = promise_on(terms)
    artefacts = promise.measured(model.score, [score_of_options(each.score) for each in retrains])
    if isinstance(promise, Certified):
        artefacts["calibration"] = _calibration(terms, measured)
    promise.equip(**artefacts)
    return promise


def has_own_score(terms: PromiseTerms) -> bool:
    """Whether options are searched on a score of the promise, which a margin of the model's own would only repeat."""
    return promises.registry[terms.kind].has_own_score()


def needs_retrains(spec: ProgramSpec) -> bool:
    """Whether a spec's promise needs retrains of its models."""
    return promise_on(spec.promise).needs_retrains


def given_parameters(terms: PromiseTerms) -> Mapping[str, Any]:
    """The parameters that a spec gives its promise, by name; of the ``FIELDS`` those that are not as by default."""
    plain = PromiseTerms()
    fields = {name: getattr(terms, name) for name in FIELDS if getattr(terms, name) != getattr(plain, name)}
    return fields | dict(terms.parameters or {})


def _calibration(terms: PromiseTerms, measured: PromiseCalibration | UnsetType) -> ShareCalibration | None:
    """The measured calibration of a promise on these terms; None where nothing was."""
    if isinstance(measured, UnsetType) or not measured.is_of(terms):
        return None
    return ShareCalibration(measured.shares, measured.bounds, measured.models, measured.rows)

"""The promise that a program's spec asks for, with what its model's bundle has measured for it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from msgspec import UNSET, UnsetType

from ...agents import promises
from ...agents.promises import Certified, NoPromise, Promise, ShareCalibration
from ...schemas.spec import ProgramSpec, PromiseTerms
from .. import worded_answers as worded_answers
from .bundle.loader import ModelBundle
from .bundle.manifest import PromiseCalibration
from .models.scoring import DecisionModel, score_of_options

FIELDS = ("norm", "radius", "quantile")
"""The parameters of promises that are fields of a spec's ``promise``. The others stand in ``promise.parameters``."""

NO_RETRAINS = "{} has no retrains, which the promise {} needs: train a new one with `onward train --retrains 40`"
NOT_CARRIED = "`promise: {{kind: {}}}` does not go with {}: {}"


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
    if fault := promise_fault(terms, bundle.model, bundle.retrains, f"model {bundle.version}"):
        raise ValueError(fault)
    return measured_promise(terms, bundle.model, bundle.retrains, bundle.manifest.promise_calibration)


def promise_fault(
    terms: PromiseTerms, model: DecisionModel, retrains: Sequence[DecisionModel] | None, name: str
) -> str | None:
    """Why a model of this name cannot carry a promise; None where it can, as far as its ``retrains`` are known."""
    promise = promise_on(terms)
    if fault := promise.misfit(model.score):
        return NOT_CARRIED.format(terms.kind, name, fault)
    if retrains is not None and promise.needs_retrains and not retrains:
        return NO_RETRAINS.format(name, terms.kind)
    return None


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
    artefacts = promise.measured(model.score, [score_of_options(retrain.score) for retrain in retrains])
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
    if isinstance(measured, UnsetType) or not measured.matches(terms):
        return None
    return ShareCalibration(measured.shares, measured.bounds, measured.models, measured.rows)

"""Whether a model fits a program's spec: one rule, for everybody who asks.

It is asked when a model is trained, imported, announced or checked, when a program is assembled, when its spec changes,
and by a worker that is told of a model. So nobody promises what another refuses. A model that is being made does not
have all yet: what is not known is not asked, and asked when it is.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from enum import Enum
from typing import Any, NamedTuple

from msgspec import UNSET, UnsetType

from ...agents import candidates, choices
from ...agents.improvement import Improvement
from ...schemas.encoding import FeatureCodec
from ...schemas.spec import ProgramSpec
from .bundle.loader import ModelBundle
from .bundle.manifest import PromiseCalibration
from .bundle.measured import Data
from .effects import Fitted, lacking_effects
from .limited_places import lacks_for_rounds
from .margin import margin_fault
from .models.scoring import DecisionModel
from .promised import measured_promise, promise_fault
from .protected_reading import protected_fault
from .published_rows import publishing_fault

NO_LINEAR_SCORE = (
    "{} has no linear score, which `generator: {}` needs: train a logistic regression, or give `generator: search`"
)
NO_ARTEFACT = "{} has no {}, which {} needs: train a new one"
NO_SLOPE = "{} knows no slope and deviation of {}: train it with this spec, or give both in its `effects`"
NO_INTERVAL = (
    "{} does not know how far what it says of help may be off, which `least_help_of: lower_end` needs: train a new "
    "one, or ask `least_help` of the probability"
)
NO_INSTANCES = "{} has no recourse instances, which `generator: {}` needs: train it with this spec"


class Asked(Enum):
    """What is asked: whether a program could serve with the model, whether it may, or both.

    Under a spec that a program has had, what was answered stays: whether it may is asked when a model or a spec comes.
    """

    USE = 1
    PERMISSION = 2
    ALL = 3


class ModelFacts(NamedTuple):
    """What a spec may ask about a model; None where it is not known yet.

    ``margin`` is the measured one, unset where there is none. ``artefact`` gives what a choice or a goal for rounds
    needs, by its name. ``data`` are the rows that it was made of.
    """

    model: DecisionModel | None = None
    version: str | None = None
    margin: float | UnsetType | None = None
    retrains: Sequence[DecisionModel] | None = None
    calibration: PromiseCalibration | UnsetType = UNSET
    artefact: Callable[[str], Any] | None = None
    data: Data | None = None
    has_instances: bool | None = None
    effects: Fitted | None = None
    improvement: Improvement | None = None

    @classmethod
    def from_bundle(cls, bundle: ModelBundle) -> ModelFacts:
        """The facts of a bundle, which has all."""
        manifest = bundle.manifest
        return cls(
            bundle.model,
            bundle.version,
            manifest.margin,
            bundle.retrains,
            manifest.promise_calibration,
            bundle.artefact,
            manifest.measured.data or Data(len(bundle.instances)),
            bool(bundle.instances),
            manifest.effects,
            bundle.improvement,
        )

    @property
    def name(self) -> str:
        """What a message calls it."""
        return "the model" if self.version is None else f"model {self.version}"


def misfit(facts: ModelFacts, spec: ProgramSpec, *, is_first: bool = False, asked: Asked = Asked.ALL) -> str | None:
    """The first thing for which a model cannot, or may not, serve a program with this spec; None where it fits.

    Of a program's first model more is asked: its arms and instances come from it.
    """
    return next(_misfits(facts, spec, is_first, asked), None)


def lacks_for_choice(facts: ModelFacts, choice: str) -> str | None:
    """The artefact that a choice needs of a program's first model and this one does not have; None where it has all."""
    for name in sorted(choices.registry[choice].needs):
        if facts.artefact is not None and facts.artefact(name) is None:
            return NO_ARTEFACT.format(facts.name, name, choice)
    return None


def _misfits(facts: ModelFacts, spec: ProgramSpec, is_first: bool, asked: Asked) -> Iterator[str]:
    rules: list[Callable[[ModelFacts, ProgramSpec], str | None]] = []
    if asked is not Asked.PERMISSION:
        rules += (
            [_choice] * is_first
            + [_margin, _rounds, _generator, _promise, _effects, _intervals]
            + [_instances] * is_first
        )
    if asked is not Asked.USE:
        rules += [_publishing] * is_first + [_reading]
    yield from (fault for rule in rules if (fault := rule(facts, spec)) is not None)


def _choice(facts: ModelFacts, spec: ProgramSpec) -> str | None:
    return lacks_for_choice(facts, spec.policy.choice)


def _margin(facts: ModelFacts, spec: ProgramSpec) -> str | None:
    return None if facts.margin is None else margin_fault(facts.margin, facts.name, spec)


def _rounds(facts: ModelFacts, spec: ProgramSpec) -> str | None:
    return None if facts.artefact is None else lacks_for_rounds(spec, facts.artefact, facts.name)


def _generator(facts: ModelFacts, spec: ProgramSpec) -> str | None:
    kind = candidates.registry[spec.policy.generator]
    if facts.model is None or not kind.needs_linear_score or isinstance(facts.model.score, candidates.LinearScore):
        return None
    return NO_LINEAR_SCORE.format(facts.name, kind.name)


def _promise(facts: ModelFacts, spec: ProgramSpec) -> str | None:
    if facts.model is None:
        return None
    if fault := promise_fault(spec.promise, facts.model, facts.retrains, facts.name):
        return fault
    if facts.retrains is not None:
        try:
            measured_promise(spec.promise, facts.model, facts.retrains, facts.calibration)
        except ValueError as error:
            return str(error)
    return None


def _effects(facts: ModelFacts, spec: ProgramSpec) -> str | None:
    lacking = None if facts.effects is None else lacking_effects(spec, facts.effects)
    return None if lacking is None else NO_SLOPE.format(facts.name, lacking)


def _intervals(facts: ModelFacts, spec: ProgramSpec) -> str | None:
    prior = facts.improvement
    if spec.policy.least_help_of != "lower_end" or prior is None or prior.is_flat or prior.knows_deviation:
        return None
    return NO_INTERVAL.format(facts.name)


def _instances(facts: ModelFacts, spec: ProgramSpec) -> str | None:
    kind = candidates.registry[spec.policy.generator]
    return NO_INSTANCES.format(facts.name, kind.name) if facts.has_instances is False and kind.uses_instances else None


def _publishing(facts: ModelFacts, spec: ProgramSpec) -> str | None:
    return None if facts.data is None else publishing_fault(spec, facts.data.fewest_alike)


def _reading(facts: ModelFacts, spec: ProgramSpec) -> str | None:
    return None if facts.model is None else protected_fault(facts.model, FeatureCodec(spec))

"""How many of a program's own options last: models of other samples of the data accept them, too.

Asked are people whom such a model rejects as they are: whom it accepts anyway needs no option. Beside the program's own
rules stand others that a spec could ask for, with what they give and cost.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import NamedTuple

import numpy as np
from msgspec import UnsetType
from msgspec.structs import replace

from .....agents import promises
from .....agents.promises import NoPromise, Promise, whole_percent
from .....schemas.spec import ProgramSpec, PromiseTerms
from ....advice import ACCEPTED
from ...bundle.manifest import Manifest
from ...bundle.measured import BARE, OWN, Lasted, MeasuredLasting
from ...compositions import composition_faults
from ...limited_places import closes_rounds
from ...margin import goal_of, margin_of
from ...model_fit import Asked, ModelFacts, misfit
from ...models.scoring import score_of_options
from ...promised import has_own_score, measured_promise
from ..margin import LEAST_SERVED
from ..offered import Offered, lasting_share, offered_to, relative_cost
from ..resampled import ModelSamples
from ..trained import Trained
from ..unsaved_program import Floats, UnsavedProgram

PEOPLE = 30
"""Rejected people who are looked at."""
MARGINS = (0.1, 0.2, 0.3)
"""The larger ones are only tried as long as too few options last."""
LASTING_SHARE = 0.9
"""The ``policy.lasting`` that is tried, which drafts write."""
CHOOSING = 8
"""The most models under which a promise that is tried searches options: the more, the longer it takes."""
MARGIN_RULE = "policy.margin:"


def measure(trained: Trained) -> MeasuredLasting | None:
    """The worth and cost of the program's options, and of those by other rules.

    The first rejected people are asked whom the model was not fitted on. None where none of these has an option, where
    no judge rejects any who has one, and in programs with rounds, whose options are to win a place.
    """
    spec, samples, people = trained.spec, trained.samples, trained.unseen_rejected[:PEOPLE]
    if not len(people) or not samples.judges or closes_rounds(spec):
        return None
    rules = _Rules(spec, trained.program, trained.margin.margin, people, samples)
    current = rules.offered(spec, trained.promise)
    if (share := rules.share(current)) is None:
        return None
    found = {OWN: rules.lasted(current, share, current)}
    for rule, other, promise in rules.other_rules():
        offered = rules.offered(other, promise)
        # By some rules nobody has an option.
        if (share := rules.share(offered)) is not None:
            found[rule] = rules.lasted(offered, share, current)
    for size in MARGINS:
        if rules.unsaved.threshold + size >= 1.0 or _reached(found):
            break
        offered = rules.offered(rules.with_margin(size), NoPromise())
        if (share := rules.share(offered)) is None:
            break
        found[f"{MARGIN_RULE} {size:g}"] = rules.lasted(offered, share, current)
    return MeasuredLasting(len(samples.judges), len(people), found)


def _reached(found: Mapping[str, Lasted]) -> bool:
    """Whether no larger margin is worth a look: enough options last with what was tried, or it serves too few."""
    margins = [lasted for rule, lasted in found.items() if rule.startswith(MARGIN_RULE)]
    if not margins:
        return False
    least = LEAST_SERVED * (1.0 - found[OWN].without)
    return max(found[OWN].share, margins[-1].share) >= ACCEPTED or 1.0 - margins[-1].without < least


class _Rules(NamedTuple):
    """A program of which some things are varied, and the people who are asked."""

    spec: ProgramSpec
    unsaved: UnsavedProgram
    margin: float | UnsetType
    people: Floats
    samples: ModelSamples

    def other_rules(self) -> Iterator[tuple[str, ProgramSpec, Promise]]:
        """The other rules that this program could have, each with its promise: no margins."""
        plain = self._varied(margin=0.0, lasting=None)
        if self.spec.policy.lasting is not None or has_own_score(self.spec.promise) or self.goes_beyond:
            yield BARE, plain, NoPromise()
        choosing = self.samples.choosing
        if self.spec.policy.lasting is None and choosing:
            yield f"policy.lasting: {LASTING_SHARE:g}", self._varied(margin=0.0, lasting=LASTING_SHARE), NoPromise()
        for kind in promises.registry:
            terms = PromiseTerms(kind=kind)
            other = replace(plain, policy=replace(plain.policy, margin=None), promise=terms)
            if not has_own_score(terms) or kind == self.spec.promise.kind or not choosing:
                continue
            if any(composition_faults(other)) or misfit(ModelFacts(self.samples.model), other, asked=Asked.USE):
                continue
            # Half of the retrains choose options. Of these all may: the judges have the place of the others.
            retrains = [model for model in choosing[:CHOOSING] for _ in range(2)]
            yield f"promise: {{kind: {kind}}}", other, measured_promise(terms, self.samples.model, retrains)

    @property
    def goes_beyond(self) -> bool:
        """Whether its options are to score more than the bare threshold."""
        return margin_of(self.spec, self.margin) > 0.0

    def with_margin(self, size: float) -> ProgramSpec:
        """Its spec with another margin."""
        return self._varied(margin=size, lasting=self.spec.policy.lasting)

    def _varied(self, *, margin: float, lasting: float | None) -> ProgramSpec:
        policy = replace(self.spec.policy, margin=margin, target=None, lasting=lasting)
        return replace(self.spec, policy=policy, promise=PromiseTerms())

    def offered(self, spec: ProgramSpec, promise: Promise) -> Offered:
        """The best options of the people by such a spec."""
        retrains = [score_of_options(retrain.score) for retrain in self.samples.choosing]
        varied = self.unsaved._replace(policy=spec.policy, retrains=retrains)
        goal = goal_of(spec, margin_of(spec, self.margin))
        vetting = varied.vetting_under(promise.robust(score_of_options(self.unsaved.score)), goal)
        return offered_to(self.people, varied, vetting)

    def share(self, offered: Offered) -> float | None:
        """The share of options that last."""
        judges = [judge.score for judge in self.samples.judges]
        return lasting_share(self.people, offered, judges, self.unsaved.threshold)

    def lasted(self, offered: Offered, share: float, current: Offered) -> Lasted:
        """The worth and cost of a rule, beside those of the program as it is (``current``)."""
        without = 1.0 - len(np.unique(offered.owner)) / len(self.people)
        return Lasted(share, float(offered.costs.mean()), relative_cost(offered, current), without)


def in_words(manifest: Manifest, _: ProgramSpec) -> Iterator[str]:
    """How many options last, what other rules would give and cost, and what it would take where too few do."""
    measured = manifest.measured.lasting
    if measured is None or OWN not in measured.rules:
        return
    found = dict(measured.rules)
    current = found.pop(OWN)
    yield (
        f"options that last: models of other samples accept {whole_percent(current.share)}, of people whom they reject "
        f"unchanged ({measured.models} models and {measured.people} people were asked)"
    )
    for rule, other in found.items():
        name = "none of this: the bare threshold" if rule == BARE else f"`{rule}`"
        yield f"  with {name}: {whole_percent(other.share)}{_price(other)}"
    if current.share >= ACCEPTED:
        return
    enough = {rule: lasted for rule, lasted in found.items() if lasted.share >= ACCEPTED and rule != BARE}
    if enough:
        rule = min(enough, key=lambda name: enough[name].relative)
        yield f"  {ACCEPTED:.0%} would take `{rule}`{_price(enough[rule])}"
    else:
        yield f"  {ACCEPTED:.0%} is reached by none of them: models of these data differ; more rows make them alike"


def _price(lasted: Lasted) -> str:
    """The cost of a rule beside the spec's own."""
    without = f", and {lasted.without:.0%} of the people have none" if lasted.without else ""
    return f", at {lasted.relative:.2f} times the cost{without}"

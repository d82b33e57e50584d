"""The parts that a program needs to ask people which plan they would take, from its spec."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from ...agents import candidates, choices, costs
from ...agents.candidates.plans import PlanGenerator
from ...agents.choices.questions import InterviewRules
from ...agents.costs.causal import Causal, CostStructure
from ...agents.costs.mixture import GaussianMixture
from ...agents.costs.responses import LogisticResponse, Noiseless, Response
from ...schemas.feature_rules import Violation
from ...schemas.spec import ElicitationTerms, ProgramSpec, WeightPrior
from .limited_places import closes_rounds

SHARPNESS = 20.0
"""Of logistic answers: a plan that costs a tenth more of the least expected cost is picked with the odds exp(-2)."""


def rules_of(elicitation: ElicitationTerms) -> InterviewRules:
    """How people are asked."""
    return InterviewRules(elicitation.questions, elicitation.options, elicitation.tolerance, repeats=False)


def response_of(elicitation: ElicitationTerms, least: float) -> Response:
    """How people answer to whom the easiest plan is expected to cost ``least``: in whatever unit costs are."""
    if elicitation.response == Noiseless.name:
        return Noiseless()
    return LogisticResponse(temperature=SHARPNESS / least if least > 0.0 else SHARPNESS)


def causal_cost(spec: ProgramSpec, elicitation: ElicitationTerms, columns: costs.Columns) -> Causal:
    """The cost of a program whose spec says what influences what, and which weights people have.

    A step costs at least 0, ending a plan nothing, and a feature at its lowest value influences nothing.
    """
    number = {feature.name: index for index, feature in enumerate(spec.features)}
    edges = [(number[parent], number[child]) for parent, child in elicitation.influences]
    structure = CostStructure(len(number), edges, floor=0.0, offset=0.0, stop=0.0)
    assert isinstance(elicitation.prior, WeightPrior), "a spec that was read holds the prior itself"
    kinds = elicitation.prior.components
    deviations = [np.broadcast_to(kind.sd, structure.parameters) for kind in kinds]
    mass, means = np.array([kind.probability for kind in kinds]), np.array([kind.mean for kind in kinds])
    return Causal(columns, structure, GaussianMixture(mass, means, np.array(deviations)))


def elicitation_faults(spec: ProgramSpec, elicitation: ElicitationTerms) -> Iterator[Violation]:
    """Methods by which nobody can be asked, and what is said of weights that a cost does not have."""
    policy, where = spec.policy, "elicitation"
    generator, cost = candidates.registry.get(policy.generator), costs.registry.get(policy.cost)
    choice = choices.registry.get(policy.choice)
    if closes_rounds(spec):
        yield (where,), f"`goal: {policy.goal}` says only when a round ends which score wins: take `elicitation` out"
    if generator is not None and not issubclass(generator, PlanGenerator):
        yield ("policy", "generator"), f"{generator.name} makes no plans to ask about: give `generator: plans`"
    if choice is not None and choice.learns:
        yield (
            ("policy", "choice"),
            f"{choice.name} learns which options to pick, but people's answers pick them: give `choice: protoar`",
        )
    if cost is None:
        return
    if not issubclass(cost, Causal | costs.SampledCost):
        yield (
            ("policy", "cost"),
            f"{cost.name} is the same for everybody, so there is nothing to ask: give `cost: mixed`, or `causal`",
        )
    elif not issubclass(cost, Causal):
        for field in ("prior", "influences"):
            if getattr(elicitation, field):
                yield (where, field), f"{cost.name} has no weights of its own: give `cost: causal`, or take it out"
    elif elicitation.influences and elicitation.prior is None:
        yield (where, "influences"), "nothing says what they weigh: give `prior` too"

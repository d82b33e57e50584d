"""The options that people get, and how many of them models of other samples of the data accept, too."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from ....agents.candidates import Vetting
from ....agents.goals import accepted
from .unsaved_program import Floats, Indices, Score, UnsavedProgram


class Offered(NamedTuple):
    """The best options of people: whose each is (m,), the encoded targets (m, D), and the costs (m,)."""

    owner: Indices
    targets: Floats
    costs: Floats


def offered_to(people: Floats, unsaved: UnsavedProgram, vetting: Vetting, most: int | None = None) -> Offered:
    """The best options of people (n, D), at most ``most`` of each, by default as many as the spec allows."""
    owner, targets = unsaved.best_options(vetting.propose(people), people, most or unsaved.policy.options)
    return Offered(owner, targets, unsaved.objective.costs(targets, people, owner))


def lasting_share(people: Floats, offered: Offered, others: Sequence[Score], threshold: float) -> float | None:
    """The share in which the model accepts the option, of the pairs of one with a model that rejects its person.

    Whom a model accepts unchanged of the people (n, D) needs no option. None where there is no pair.
    """
    rejecting, accepting = 0, 0
    for other in others:
        rejects = ~accepted(other(people), threshold)[offered.owner]
        rejecting += int(rejects.sum())
        accepting += int((rejects & accepted(other(offered.targets), threshold)).sum())
    return accepting / rejecting if rejecting else None


def relative_cost(offered: Offered, others: Offered) -> float:
    """The mean costs of people's options, as a multiple of those of other options of the same people; 1 without any."""
    both = np.intersect1d(offered.owner, others.owner).tolist()
    cost, other = (
        sum(float(offer.costs[offer.owner == person].mean()) for person in both) for offer in (offered, others)
    )
    return cost / other if other else 1.0

"""EMC: the set of options of which one is cheap for a person whose preferences nobody knows."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from ..options import Options
from .components.min_cost import greedy, swaps
from .contract import Array, FixedChoice, Pick, Random


class EMC(FixedChoice):
    r"""Options whose expected minimum cost is low: each person takes the one that is cheapest for them.

    $$\mathrm{EMC}(A) = \frac{1}{S} \sum_i \min(c, \min_{a \in A} c_{ai})$$

    over S samples of a person's cost function. Greedy picks are exchanged one by one until no exchange lowers it. What
    no option serves counts the cap $c$ of the program's cost. It learns nothing of its own: what is learned of
    preferences changes the samples. Of options that add equally the one of the lowest mean cost is picked, so where
    the cost is known, the cheapest options are.

    Examples
    --------
    >>> points, arms = np.array([[0.9], [0.8], [0.7]]), np.array([1, 2])
    >>> options = Options(np.array([0.3]), arms, points, arms, execution=np.array([0.5, 0.7]))
    >>> EMC(points, window=10).select(options, 2, np.random.default_rng)
    (Pick(arm=2, propensity=1.0, execution=0.7), Pick(arm=1, propensity=1.0, execution=0.5))

    References
    ----------
    Yadav, P., Hase, P. and Bansal, M. (2024). Low-Cost Algorithmic Recourse for Users With Uncertain Cost Functions.
    TMLR.
    Equations 3 and 4; ``docs/emc.md`` numbers the differences.
    """

    name: ClassVar[str] = "emc"

    def worth(self, options: Options, random: Random) -> Array:
        """The cap less the cost of each option, (F,)."""
        assert options.samples is not None, "without samples options are picked one by one"
        return options.samples.cost.cap - _costs(options)

    def pick(self, options: Options, random: Random) -> Pick:
        """Pick the option of the lowest mean cost."""
        return _picked(options, _costs(options).argmin().item())

    def _select_among_samples(
        self,
        options: Options,
        max_options: int,
        random: Random,
        *,
        every: bool,  # nothing is expected of options that are compared by cost
    ) -> tuple[Pick, ...]:
        """Pick up to ``max_options`` options, those first that add most."""
        samples = options.samples
        assert samples is not None, "without samples options are picked one by one"
        order = np.argsort(_costs(options), kind="stable")
        costs = samples.costs[order]
        weights, cap = np.ones(costs.shape[1]), samples.cost.cap
        chosen, _ = greedy(costs, weights, cap, max_options)
        chosen = order[swaps(costs, weights, cap, chosen)]
        return tuple(_picked(options, at) for at in chosen.tolist())


def _picked(options: Options, at: int) -> Pick:
    return Pick(options.arm.item(at), 1.0, options.execution.item(at))


def _costs(options: Options) -> Array:
    """The mean cost of each option, (F,); where it is known, minus the logarithm of the execution probability."""
    if options.samples is not None:
        return options.samples.cost.mean(options.samples.costs)
    with np.errstate(divide="ignore"):
        return -np.log(options.execution)

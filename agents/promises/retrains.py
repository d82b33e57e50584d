"""The promise of an ensemble: an option holds under a share of other models, whatever kind of model it is."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, ClassVar

import numpy as np
from scipy.special import betaincinv

from ..scores import together
from .contract import Array, Certified, Counts, Score
from .radius import Quantile
from .share_calibration import ShareCalibration, models_asked, whole_percent

CONFIDENCE = 0.95
"""How sure the bound of one option is, where its retrains are not calibrated."""
NEAR = 0.5
"""People read a bound that is at least this part of the share."""


def accepting(targets: Array, retrains: Sequence[Score], required: float) -> Array:
    """The share of other models, (n,), that score each target (n, D) above ``required``."""
    return np.asarray(np.mean(together(retrains)(targets) > required, axis=1))


def clopper_pearson(successes: int, trials: int, confidence: float = CONFIDENCE) -> float:
    """The lower bound of a probability by its successes in independent trials: exact, and never too high.

    Examples
    --------
    >>> round(clopper_pearson(20, 20), 3), round(clopper_pearson(18, 20), 3), clopper_pearson(0, 20)
    (0.861, 0.717, 0.0)

    References
    ----------
    Clopper, C. J. and Pearson, E. S. (1934). The Use of Confidence or Fiducial Limits Illustrated in the Case of the
    Binomial. Biometrika 26.
    """
    if not 0 <= successes <= trials or trials < 1:
        raise ValueError(f"{successes} of {trials} trials: give a number of successes from 0 to that of the trials")
    return float(betaincinv(successes, trials - successes + 1, 1.0 - confidence)) if successes else 0.0


class EnsembleScore:
    """The score that a model and all but a share delta of its retrains reach: what robust options are searched on.

    It is the least of the model's own score and the delta-quantile of those of the retrains, at the next lower rank. An
    option whose score is above a threshold is accepted by the model and by a share of at least 1 - delta of these
    retrains. It may hold under fewer of others, because it was chosen by these: certify it on others.

    Parameters
    ----------
    score
        The current model's.
    retrains
        Those of models of resamples of its data.
    delta
        The share of them that may reject, from 0 to below 1.

    Raises
    ------
    ValueError
        Without retrains, and for another delta.

    Examples
    --------
    >>> models = [lambda X, k=k: X[:, 0] - 0.1 * k for k in range(5)]
    >>> EnsembleScore(models[0], models, delta=0.2)(np.array([[0.9]])).round(2)
    array([0.6])
    """

    models_in_words = "under nearly all models that may follow"

    def __init__(self, score: Score, retrains: Sequence[Score], delta: float) -> None:
        if not retrains:
            raise ValueError("there are no retrains: give the scores of at least one")
        if not 0.0 <= delta < 1.0:
            raise ValueError(f"delta is {delta}: give a share from 0 to below 1")
        self._score, self._retrains = score, together(retrains)
        self._rank = int(delta * len(retrains) + 1e-9)

    def __call__(self, X: Array) -> Array:
        """The scores, (n,), of encoded rows (n, D)."""
        scores = np.sort(self._retrains(X), axis=1)
        return np.asarray(np.minimum(self._score(X), scores[:, self._rank]))


class RetrainsPromise(Certified):
    r"""Guarantees that a share of models trained on other rows accept an option, with a bound for the single option.

    It needs the scores of two groups of models of resamples of the own rows: ``choosing``, on which options are
    searched, and ``certifying``. Such models agree with each other more than models of other rows do. So what the
    certifying ones say is looked up in a ``ShareCalibration``, which was measured on rows kept aside. Any model can
    carry it.

    Without a calibration, ``share`` is that of the certifying retrains that accept the option, and ``bound`` the
    Clopper-Pearson lower bound of the probability that a further one does. Both are of resamples of the own rows then,
    and the number of models is ``models_of_resamples``.

    Parameters
    ----------
    quantile
        The share of the choosing retrains that may reject an option that is searched. The stated share is measured.

    Examples
    --------
    >>> promise = RetrainsPromise(quantile=0.05)
    >>> models = [lambda X, k=k: X[:, 0] - 0.01 * k for k in range(40)]
    >>> promise.equip(choosing=models[::2], certifying=models[1::2])
    >>> numbers = promise.guarantee(np.array([0.65]), lambda X: X[:, 0])
    >>> numbers["share"], round(numbers["bound"], 3)
    (0.35, 0.177)
    >>> measured = ShareCalibration([k / 25 for k in range(21)], [k / 50 for k in range(21)], models=80)
    >>> promise.equip(choosing=models[::2], certifying=models[1::2], calibration=measured)
    >>> promise.guarantee(np.array([0.65]), lambda X: X[:, 0])
    {'share': 0.28, 'bound': 0.14, 'models_of_other_rows': 80.0}
    """

    name: ClassVar[str] = "retrains"
    is_advised: ClassVar[bool] = True
    needs: ClassVar[frozenset[str]] = frozenset({"choosing", "certifying"})

    def __init__(self, *, quantile: Quantile = 0.05) -> None:
        super().__init__(quantile=quantile)
        self.quantile = quantile
        self._choosing: Sequence[Score] = ()
        self._certifying: Sequence[Score] = ()
        self._calibration: ShareCalibration | None = None

    def measured(self, score: Score, retrains: Sequence[Score]) -> dict[str, Any]:
        """The retrains in two groups, every second one in each."""
        return {"choosing": retrains[::2], "certifying": retrains[1::2]}

    def equip(self, *, calibration: ShareCalibration | None = None, **artefacts: Any) -> None:
        """Take the scores of retrained models, and what their verdict is worth where that was measured.

        Raise ``ValueError`` where there are none, and for a calibration of another number of certifying ones.
        """
        super().equip(**artefacts)
        self._choosing, self._certifying = tuple(artefacts["choosing"]), tuple(artefacts["certifying"])
        self._calibration = calibration
        if not self._choosing or not self._certifying:
            raise ValueError("there are no retrains: give the scores of at least one of each group")
        if calibration and {len(calibration.shares), len(calibration.bounds)} != {len(self._certifying) + 1}:
            count = len(self._certifying)
            raise ValueError(f"the calibration is not of the {count} certifying retrains: give {count + 1} shares")

    def robust(self, score: Score) -> Score:
        """The score that the model and all but a quantile of the choosing retrains reach."""
        assert self._choosing, "call `equip` before options are searched"
        return EnsembleScore(score, self._choosing, self.quantile)

    def guarantee(self, target: Array, score: Score, required: float = 0.5) -> dict[str, float]:
        """The share of models that accept the target, the bound, and how many models it was measured with."""
        count, trials = self.certified(target[np.newaxis], required).item(), len(self._certifying)
        if self._calibration is not None:
            return self._calibration.stated(count)
        bound = clopper_pearson(count, trials)
        return {"share": count / trials, "bound": bound, "models_of_resamples": float(trials)}

    def certified(self, targets: Array, required: float = 0.5) -> Counts:
        """The number of certifying retrains that accept each target (n, D), (n,)."""
        assert self._certifying, "call `equip` before anything is guaranteed"
        return np.rint(accepting(targets, self._certifying, required) * len(self._certifying)).astype(np.intp)

    @classmethod
    def in_words(cls, guarantee: Mapping[str, float]) -> str | None:
        """The share that is stated, of which models, and the bound where it is near."""
        if not guarantee.keys() >= {"share", "bound"}:
            return None
        share, bound = whole_percent(guarantee["share"]), whole_percent(guarantee["bound"])
        if population := models_asked(guarantee):
            rows, models = population
            # A bound far below says only that the options of one program differ: as a number it reads as the promise.
            is_near = guarantee["bound"] >= NEAR * guarantee["share"]
            single = (
                f"for 19 of 20 such options at least {bound} accept"
                if is_near
                else "for one option it may be far fewer"
            )
            return f"accepted by about {share} of models trained on {rows}, of which {models:.0f} were asked; {single}"
        asked = guarantee.get("models_of_resamples")
        number = "of other data none was asked" if asked is None else f"{asked:.0f} were asked, and of other data none"
        return f"accepted by at least {bound} of models of resamples of its own data; {number}"

    def measured_in_words(self, means: Mapping[str, float]) -> Iterator[str]:
        """The mean share and bound, and which models they are of."""
        if not means.keys() >= {"share", "bound"}:
            return
        share, bound = whole_percent(means["share"]), whole_percent(means["bound"])
        if population := models_asked(means):
            rows, models = population
            yield (
                f"{self.name}; of models trained on {rows} about {share} accept an option, and for 19 of 20 options at "
                f"least {bound} ({models:.0f} such models were asked)"
            )
            return
        yield (
            f"{self.name}; of models of resamples of its own data, which took no part in choosing options, at least "
            f"{bound} accept one ({means['models_of_resamples']:.0f} were asked); models of other rows were not asked, "
            "and mostly fewer of them accept it"
        )

    def relaxations(self) -> Iterator[str]:
        """A larger share that may reject an option."""
        yield f"a larger `promise.quantile` than {self.quantile:g}"

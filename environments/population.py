"""A generated population of people who ask for a personal loan, for when there is no data file.

Two things about a person cause everything else: means (what they earn, and what that lets them save) and prudence
(how they handle it). Whether a loan is repaid follows from what is left each month, the reserves, the habits, and a
shock that no application shows. The shock strikes hardest those with thin reserves, so that among the people a model
accepts some are accepted by mistake, and more of them near its boundary, where the easiest suggestions lie.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from scipy.special import log_ndtr, ndtr

from ..agents.arrays import Array
from ..agents.sigmoid import sigmoid
from ..schemas.encoding import FeatureCodec
from ..schemas.events import Value
from ..schemas.spec import ProgramSpec
from ..schemas.table import Table

Column = NDArray[np.generic]

SPEC = Path(__file__).parent / "specs" / "loan.yaml"
"""The program spec of this population."""

AGE_BANDS = ("under_30", "30_to_49", "50_and_over")
EDUCATION = ("secondary", "vocational", "bachelor", "master")
HOUSING = ("with_family", "renting", "owner")
DEPENDANTS = ("none", "some")

CAUSES = (
    "monthly_income",
    "monthly_debt_payments",
    "savings",
    "loan_amount",
    "loan_term",
    "card_utilisation",
    "missed_payments_two_years",
    "years_in_job",
)
"""The numbers that repayment depends on; housing and dependants matter too. Age and education have no effect of their
own."""

LIVING_COST_EUR = 650.0
"""What a person needs a month beside debt and the new loan."""

SHOCK = 2.6
"""The mean of the shock for a person without reserves."""
RESERVES_ABSORB = 0.5
NOISE = 0.25
"""The standard deviation of all else that no application shows."""
ENOUGH = 2.1
"""Without a shock a strength above the negative of this repays."""


class Population:
    """People drawn from a structural model; the same seed gives the same people.

    Under ``hardship`` fewer of them repay: everybody's strength is less by this much.
    """

    def __init__(self, *, seed: int, hardship: float = 0.0) -> None:
        self._seed, self._hardship = seed, hardship

    def table(self, spec: ProgramSpec, size: int = 8000) -> Table:
        """``size`` people as a data file of the spec at ``SPEC`` would hold them, label 1 = repaid."""
        random = np.random.default_rng(self._seed)
        columns = _applications(random, size)
        labels = _repaid(random, columns, self._hardship)
        names = list(columns)
        rows = [dict(zip(names, row, strict=True)) for row in zip(*map(_plain, columns.values()), strict=True)]
        return Table(rows, labels, FeatureCodec(spec).encode_many(rows))


def _applications(random: np.random.Generator, n: int) -> dict[str, Column]:
    """Raw feature columns, (n,) each, inside the bounds of the spec and on its steps."""
    age = random.integers(20, 70, n)
    means, prudence = random.standard_normal((2, n))
    dependants = random.random(n) < np.where(age < 30, 0.2, 0.5)
    schooling = np.clip(np.round(1.2 + 0.9 * means + 0.6 * random.standard_normal(n)), 0, 3).astype(np.int64)
    years = np.clip(np.round((age - 20) * random.beta(1.5, 3.0, n) + prudence), 0, 40)
    growth = 0.012 * np.minimum(age - 20, 30)
    income = np.exp(7.35 + 0.13 * schooling + 0.22 * means + growth + 0.15 * random.standard_normal(n))
    income = _stepped(income, 10, 800, 12000)
    burden = np.clip(0.20 - 0.06 * prudence + 0.08 * random.standard_normal(n), 0.0, 0.6)
    debts = _stepped(income * burden, 10, 0, 6000)
    months_saved = np.exp(0.6 + 0.7 * prudence + 0.3 * means + 0.6 * random.standard_normal(n))
    owner = random.random(n) < sigmoid(-2.2 + 0.05 * (age - 20) + 0.7 * means)
    family = ~owner & (random.random(n) < np.where(age < 30, 0.4, 0.08))
    return {
        "age_band": np.array(AGE_BANDS)[np.searchsorted([30, 50], age, side="right")],
        "dependants": np.array(DEPENDANTS)[dependants.astype(np.int64)],
        "education": np.array(EDUCATION)[schooling],
        "housing": np.array(HOUSING)[np.where(owner, 2, np.where(family, 0, 1))],
        "years_in_job": years.astype(np.int64),
        "monthly_income": income,
        "monthly_debt_payments": debts,
        "savings": _stepped(income * months_saved * 0.8, 100, 0, 80000),
        "card_utilisation": np.round(100 * sigmoid(-0.3 - 1.1 * prudence + 0.8 * random.standard_normal(n)), 1),
        "missed_payments_two_years": np.minimum(random.poisson(np.exp(-0.5 - 0.9 * prudence)), 12),
        "loan_amount": _stepped(np.exp(8.9 + 0.6 * random.standard_normal(n)), 500, 1000, 40000),
        "loan_term": 12 * random.integers(1, 8, n),
    }


def _repaid(random: np.random.Generator, columns: dict[str, Column], hardship: float) -> NDArray[np.int64]:
    """Labels (n,): 1 = repaid."""
    margin, reserves = _margin_and_reserves(columns)
    shock = random.exponential(1.0, len(margin)) * np.exp(-RESERVES_ABSORB * reserves)
    return (margin - hardship - SHOCK * shock + NOISE * random.standard_normal(len(margin)) > 0).astype(np.int64)


def repayment_probability(columns: Mapping[str, Column]) -> Array:
    """The probability (n,) that people with these features repay: that of the model behind ``Population``.

    ``columns`` are raw features, (n,) each. A loan is repaid when margin + noise exceeds the shock. The noise is
    normal and the shock exponential with a mean tau, so the probability is

        Phi(margin / NOISE) - exp(NOISE^2 / (2 tau^2) - margin / tau) Phi(margin / NOISE - NOISE / tau)
    """
    margin, reserves = _margin_and_reserves(columns)
    tau = SHOCK * np.exp(-RESERVES_ABSORB * reserves)
    struck = (NOISE / tau) ** 2 / 2 - margin / tau + log_ndtr(margin / NOISE - NOISE / tau)
    return np.asarray(np.clip(ndtr(margin / NOISE) - np.exp(struck), 0.0, 1.0))


def _margin_and_reserves(columns: Mapping[str, Column]) -> tuple[Array, Array]:
    """How far people are from failing without a shock, and the reserves that absorb one, (n,) each."""
    income, debts, savings, amount, term, card, missed, years = (columns[name].astype(np.float64) for name in CAUSES)
    needs = LIVING_COST_EUR * np.where(columns["dependants"] == "some", 1.35, 1.0)
    rent = np.where(columns["housing"] == "renting", 420.0, 150.0)
    left = (income - needs - rent - debts - 1.05 * amount / term) / income
    reserves = np.log1p(savings / income)
    strength = 3.0 * left + 0.9 * reserves - 0.035 * card - 0.28 * missed + 0.10 * np.minimum(years, 10)
    return strength + ENOUGH, reserves


def _stepped(values: Array, step: int, low: int, high: int) -> NDArray[np.int64]:
    return (step * np.round(np.clip(values, low, high) / step)).astype(np.int64)


def _plain(column: Column) -> Sequence[Value]:
    """A column as Python's own values."""
    values: list[Value] = column.tolist()
    return values

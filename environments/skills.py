"""A generated population of people who ask for a place in a course, with twelve skills that they may practise."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from ..agents.arrays import Array
from ..agents.sigmoid import sigmoid
from ..schemas.encoding import FeatureCodec
from ..schemas.events import Value
from ..schemas.spec import ProgramSpec
from ..schemas.table import Table

SPEC = Path(__file__).parent / "specs" / "course.yaml"
"""The program spec of this population."""
PEOPLE = 8000
AGES = ("under_30", "30_to_49", "50_and_over")
HIGHEST = 10
TALENT = 0.8
"""The standard deviation of what a person's skills have in common, in levels."""
LEVEL = 3.5
"""The mean level of a skill."""
ENOUGH = 45.0
"""The sum of levels with which half of the people pass."""
LEVELS_PER_LOGIT = 2.0


class Passing:
    """The probability that people pass, which follows from the sum of their skills alone.

    Parameters
    ----------
    codec
        That of the spec at ``SPEC``: the columns after the first are skills, of 0 to 1.
    """

    def __init__(self, codec: FeatureCodec) -> None:
        self._skills = np.array([feature.type == "integer" for feature in codec.spec.features])[codec.feature_of]

    def probability(self, X: Array) -> Array:
        """The probability of passing (n,) of encoded people (n, D)."""
        return np.asarray(sigmoid((HIGHEST * X[:, self._skills].sum(axis=1) - ENOUGH) / LEVELS_PER_LOGIT))


def skilled_people(spec: ProgramSpec, seed: int) -> Table:
    """``PEOPLE`` people as a data file of the spec at ``SPEC`` would hold them, label 1 = passed."""
    random, codec = np.random.default_rng(seed), FeatureCodec(spec)
    names = [feature.name for feature in spec.features if feature.type == "integer"]
    talent = TALENT * random.standard_normal((PEOPLE, 1))
    levels = np.clip(np.round(LEVEL + talent + 1.8 * random.standard_normal((PEOPLE, len(names)))), 0, HIGHEST)
    ages = random.integers(len(AGES), size=PEOPLE)
    rows: list[dict[str, Value]] = [
        {"age_band": AGES[age], **dict(zip(names, map(int, own), strict=True))}
        for age, own in zip(ages.tolist(), levels.tolist(), strict=True)
    ]
    encoded = codec.encode_many(rows)
    labels = (random.random(PEOPLE) < Passing(codec).probability(encoded)).astype(np.int64)
    return Table(rows, labels, encoded)

"""What a ledger holds of expectations: predicted against observed rewards, and what is believed of features."""

from __future__ import annotations

import sqlite3
from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import NamedTuple

import msgspec
import numpy as np

from ...agents import choices
from ...agents.choices import FeatureBeliefs
from ..engine.reward_watch import RewardWatch, calibration_error
from .array_codec import unpack
from .checksum import without_checksum

CERTAIN = 2.0
"""Standard deviations by which a feature must help less than expected to be named."""


class FeatureSummary(NamedTuple):
    """What is believed of one feature; ``omega`` is 0 where it helps as expected, 1 where it does not help at all.

    ``difficulty`` is how many times as hard as assumed its changes are.
    """

    feature: str
    omega: float
    omega_sd: float
    difficulty: float

    @property
    def least_omega(self) -> float:
        """Omega at the least: above 0 the feature helps less than expected, with some certainty."""
        return self.omega - CERTAIN * self.omega_sd


class RewardsSummary(NamedTuple):
    """A program whose learner expects rewards. ``tenths`` are outcomes, the sum of what was predicted and that of the
    rewards, by tenths of the prediction. ``drifts`` were found, the last at the event time ``drift_ms``.

    ``features`` are those of which outcomes tell something, the one first that most certainly helps less than expected.
    """

    tenths: tuple[tuple[int, float, float], ...]
    drifts: int
    drift_ms: int | None
    features: tuple[FeatureSummary, ...]

    @property
    def totals(self) -> tuple[int, float, float]:
        """Outcomes, predicted and observed rewards, all added up."""
        outcomes, predicted, observed = zip(*self.tenths, strict=True)
        return sum(outcomes), sum(predicted), sum(observed)

    @property
    def calibration_error(self) -> float | None:
        """The mean distance of predicted and observed rewards over tenths; None without outcomes."""
        return calibration_error(np.array(self.tenths).T) if self.totals[0] else None


def joined(parts: Sequence[RewardsSummary]) -> RewardsSummary:
    """Those of several shards or ledgers: outcomes added up, and of each feature what is most certain."""
    sums = np.sum([part.tenths for part in parts], axis=0).tolist()
    tenths = tuple((int(outcomes), predicted, observed) for outcomes, predicted, observed in sums)
    best: dict[str, FeatureSummary] = {}
    for feature in (feature for part in parts for feature in part.features):
        best[feature.feature] = min(feature, best.get(feature.feature, feature), key=lambda one: one.omega_sd)
    features = sorted(best.values(), key=lambda one: -one.least_omega)
    last_ms = max((part.drift_ms for part in parts if part.drift_ms is not None), default=None)
    return RewardsSummary(tenths, sum(part.drifts for part in parts), last_ms, tuple(features))


def rewards_of(db: sqlite3.Connection) -> dict[str, RewardsSummary]:
    """The programs of an open ledger whose learners expect rewards."""
    shards = defaultdict[str, list[RewardsSummary]](list)
    for program, name, learner, watch in db.execute("SELECT program, choice, learner, watch FROM shards").fetchall():
        choice = choices.registry.get(name)
        beliefs = None if choice is None else choice.beliefs_of(unpack(without_checksum(learner)))
        if beliefs is not None:
            kept = _decode_watch(without_checksum(watch))
            shards[program].append(_of_shard(kept, beliefs, _features(db, program)))
    return {program: joined(parts) for program, parts in shards.items()}


def _of_shard(watch: RewardWatch, beliefs: FeatureBeliefs, names: Iterable[str]) -> RewardsSummary:
    omega, omega_sd, difficulty, seen = (part.tolist() for part in beliefs)
    believed = zip(names, omega, omega_sd, difficulty, strict=True)
    features = tuple(FeatureSummary(*own) for own, is_seen in zip(believed, seen, strict=True) if is_seen)
    return RewardsSummary(tuple(map(tuple, watch.by_tenth().T.tolist())), watch.drifts, watch.drift_ms, features)


def _features(db: sqlite3.Connection, program: str) -> list[str]:
    """The names of a program's features, which stay for its life."""
    (body,) = db.execute("SELECT body FROM specs WHERE program = ? ORDER BY number LIMIT 1", (program,)).fetchone()
    return [feature["name"] for feature in msgspec.json.decode(without_checksum(body))["features"]]


_decode_watch = msgspec.msgpack.Decoder(RewardWatch).decode

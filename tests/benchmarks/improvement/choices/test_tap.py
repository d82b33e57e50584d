"""TAP: the options that the verifier confirms."""

from __future__ import annotations

import numpy as np
import pytest

from onward.agents.options import Options
from onward.benchmarks.improvement.choices import TAP, Verifier

POINTS = np.array([[0.6], [0.7], [0.8], [0.9]])
ALL = np.arange(4)
EXECUTION = np.array([0.9, 0.8, 0.7, 0.6])


def verified(agreement: np.ndarray, tolerance: float = 0.1) -> TAP:
    """The model is certain of all people; the verifier's answers are given."""
    tap = TAP(POINTS, 10)
    tap.equip(verifier=Verifier(lambda _: agreement, lambda people: (people[:, 0] > 0.5).astype(float), tolerance))
    return tap


def chosen(tap: TAP, feasible: np.ndarray = ALL) -> int | None:
    options = Options(np.array([0.2]), feasible, POINTS, feasible, EXECUTION[feasible])
    pick = tap.choose(options, np.random.default_rng)
    return pick and pick.arm


@pytest.mark.parametrize(
    ("agreement", "arm"),
    [
        ([0.0, 0.0, 0.0, 0.0], 0),
        ([0.9, 0.05, 0.0, 0.0], 1),
        ([0.9, 0.2, 0.11, 0.1], 3),
        ([0.9, 0.5, 0.4, 0.6], 2),
    ],
)
def test_takes_the_likeliest_trusted_option_or_the_one_with_the_least_disagreement(
    agreement: list[float], arm: int
) -> None:
    assert chosen(verified(np.array(agreement))) == arm


def test_disagreement_is_between_the_verifier_and_an_uncertain_model() -> None:
    verifier = Verifier(lambda pairs: np.full(len(pairs), 0.5), lambda people: people[:, 0], 0.1)
    disagreement = verifier.disagreement(np.array([0.2]), POINTS, np.array([0.6, 0.7, 0.8, 0.9]))
    np.testing.assert_allclose(disagreement, np.abs(0.5 - np.array([0.44, 0.38, 0.32, 0.26])))


def test_a_pair_is_the_person_and_then_the_target() -> None:
    asked = []
    tap = TAP(POINTS, 10)
    tap.equip(verifier=Verifier(lambda pairs: asked.append(pairs) or np.zeros(len(pairs)), lambda X: X[:, 0], 1.0))
    chosen(tap, np.array([1, 3]))
    np.testing.assert_array_equal(asked[0], [[0.2, 0.7], [0.2, 0.9]])


def test_without_its_verifier_it_takes_no_step() -> None:
    with pytest.raises(ValueError, match="no verifier"):
        chosen(TAP(POINTS, 10))


def test_looks_at_an_option_s_target_and_not_at_its_arm() -> None:
    """The verifier denies every change of label, and the model asserts it for targets above 0.5 only."""
    tap = TAP(POINTS, 10)
    tap.equip(verifier=Verifier(lambda pairs: np.ones(len(pairs)), lambda X: 1.0 * (X[:, 0] > 0.5), 0.1))
    for targets, arm in (([[0.3], [0.8]], 0), ([[0.8], [0.3]], 1)):
        options = Options(np.array([0.2]), np.array([0, 1]), np.array(targets), np.array([0, 1]), np.array([0.5, 0.6]))
        pick = tap.choose(options, np.random.default_rng)
        assert pick is not None
        assert pick.arm == arm

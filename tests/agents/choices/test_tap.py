"""TAP: whom the verifier trusts."""

from __future__ import annotations

import numpy as np
import pytest

from onward.agents.choices import TAP, Verifier

POINTS = np.array([[0.6], [0.7], [0.8], [0.9]])
EVERYBODY = np.arange(4)
EXECUTION = np.array([0.9, 0.8, 0.7, 0.6])


def verified(agreement: np.ndarray, tolerance: float = 0.1) -> TAP:
    """The model is sure of everybody; the verifier's answers are given."""
    tap = TAP(POINTS, 10)
    tap.verifier = Verifier(lambda _: agreement, lambda people: (people[:, 0] > 0.5).astype(float), tolerance)
    return tap


def chosen(tap: TAP, feasible: np.ndarray = EVERYBODY) -> int | None:
    pick = tap.choose(np.array([0.2]), feasible, EXECUTION[feasible], np.random.default_rng)
    return pick and pick.candidate


@pytest.mark.parametrize(
    ("agreement", "candidate"),
    [
        ([0.0, 0.0, 0.0, 0.0], 0),
        ([0.9, 0.05, 0.0, 0.0], 1),
        ([0.9, 0.2, 0.11, 0.1], 3),
        ([0.9, 0.5, 0.4, 0.6], 2),
    ],
)
def test_takes_the_easiest_of_the_trusted_or_the_one_least_doubted(agreement: list[float], candidate: int) -> None:
    assert chosen(verified(np.array(agreement))) == candidate


def test_doubt_is_between_the_verifier_and_a_model_that_is_not_sure_either() -> None:
    verifier = Verifier(lambda pairs: np.full(len(pairs), 0.5), lambda people: people[:, 0], 0.1)
    doubt = verifier.doubt(np.array([0.2]), POINTS, np.array([0.6, 0.7, 0.8, 0.9]))
    np.testing.assert_allclose(doubt, np.abs(0.5 - np.array([0.44, 0.38, 0.32, 0.26])))


def test_asks_about_the_person_first_and_then_the_candidate() -> None:
    asked = []
    tap = TAP(POINTS, 10)
    tap.verifier = Verifier(lambda pairs: asked.append(pairs) or np.zeros(len(pairs)), lambda X: X[:, 0], 1.0)
    chosen(tap, np.array([1, 3]))
    np.testing.assert_array_equal(asked[0], [[0.2, 0.7], [0.2, 0.9]])

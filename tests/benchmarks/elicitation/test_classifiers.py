"""A network on the lattice of one person."""

from __future__ import annotations

import numpy as np
import pytest

from onward.benchmarks.elicitation.classifiers import Network

LEVELS = np.array([[0, 0], [1, 2], [2, 1]])
FIRST = np.zeros(2, dtype=np.intp)


def blocks() -> list[tuple[slice, np.ndarray]]:
    return [(slice(column, column + 1), np.linspace(0.0, 1.0, 3)[:, np.newaxis]) for column in range(2)]


def network(*, largest: float = 1.0) -> Network:
    random = np.random.default_rng(0)
    shapes = (5, 2), (3, 5), (1, 3)
    return Network([(largest * random.normal(size=shape), random.normal(size=shape[0])) for shape in shapes])


def test_the_levels_of_a_lattice_have_the_log_odds_of_their_rows() -> None:
    found, _ = network().on(np.zeros(2), blocks(), FIRST)(LEVELS)
    np.testing.assert_allclose(found, network().log_odds(LEVELS / 2.0), rtol=1e-5)


@pytest.mark.filterwarnings("ignore:overflow")
def test_what_is_no_number_is_refused() -> None:
    score = network(largest=1e38).on(np.zeros(2), blocks(), FIRST)
    with pytest.raises(FloatingPointError, match="no finite numbers"):
        score(LEVELS)

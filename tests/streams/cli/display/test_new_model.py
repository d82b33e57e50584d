"""What is told of a new model."""

from __future__ import annotations

import pytest

from onward.streams.programs.bundle.measured import EqualMargin
from onward.streams.programs.training.measures.promise import equal_margin_in_words


@pytest.mark.parametrize("accepted", [0.997, 1.0])
def test_no_margin_is_told_to_be_accepted_by_all_models(accepted: float) -> None:
    assert equal_margin_in_words(EqualMargin(0.1, 0.5, 0.2, accepted), 80) == (
        "a plain `policy.margin: 0.1` makes as many of these models accept the cheapest options (99%; 80 were asked), "
        "at a mean cost of 0.5 beside 0.2: the promise is cheaper"
    )

"""What is told of a new model."""

from __future__ import annotations

import pytest

from onward.streams.cli.display.new_model import _equal_margin, _refused


@pytest.mark.parametrize("accepted", [0.997, 1.0])
def test_no_margin_is_told_to_be_accepted_by_all_models(accepted: float) -> None:
    metrics = {
        "equal_margin": 0.1,
        "equal_margin_accepted": accepted,
        "equal_margin_cost": 0.5,
        "equal_margin_promised_cost": 0.2,
    }
    [line] = _equal_margin(metrics, 80)
    assert line == (
        "a plain `policy.margin: 0.1` makes as many of these models accept the cheapest options (99%; 80 were asked), "
        "at a mean cost of 0.5 beside 0.2: the promise is cheaper"
    )


def test_who_has_only_options_that_work_up_to_a_point_is_told_where_there_is_somebody() -> None:
    assert list(_refused({"only_up_to_a_point": 0.0})) == list(_refused({})) == []
    [line] = _refused({"only_up_to_a_point": 0.125})
    assert line == "  12.5% have only options that work up to a point: `policy.overshoot: limit` tells them"

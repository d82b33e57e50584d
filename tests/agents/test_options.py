"""What may be suggested beside an option."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest

from onward.agents.choices import registry
from onward.agents.options import Options, Outlook


def options(probability: list[float], main: list[int], *, expected: bool = True) -> Options:
    """Options of arms 0, 1, ... that help so probably, each by one feature most of all."""
    p, arms = np.array(probability), np.arange(len(probability))
    outlook = Outlook(np.log(p / (1.0 - p)), np.eye(3)[main], np.zeros((len(p), 3))) if expected else None
    return Options(np.zeros(3), arms, np.eye(len(p), 3), arms, np.full(len(p), 0.5), outlook)


@pytest.mark.parametrize(
    ("probability", "main", "left"),
    [
        ([0.8, 0.63, 0.65, 0.9], [0, 1, 1, 2], [2, 3]),  # 0.64 is enough
        ([0.8, 0.79, 0.7], [0, 0, 1], [2]),
        ([0.8, 0.79, 0.5], [0, 0, 1], []),
    ],
)
def test_other_options_help_about_as_probably_by_another_main_change(probability, main, left):
    assert options(probability, main).compatible_with(0).arm.tolist() == left


def test_where_no_change_is_known_to_help_all_others_may_stand_beside_an_option():
    known = options([0.6, 0.6, 0.6], [0, 0, 0])
    flat = Options(*known[:5], known.outlook._replace(effects=np.zeros((3, 3))))
    assert flat.compatible_with(1).arm.tolist() == [0, 2]
    assert known.compatible_with(1).arm.tolist() == []


def test_where_nothing_is_expected_all_others_may_stand_beside_an_option():
    assert options([0.8, 0.5, 0.1], [0, 0, 0], expected=False).compatible_with(1).arm.tolist() == [0, 2]


def test_a_way_without_what_all_others_need_is_told_though_it_helps_less():
    known = options([0.8, 0.79, 0.5], [0, 0, 1])
    points = np.array([[0.5, 0.0, 0.0], [0.7, 0.1, 0.0], [0.0, 0.9, 0.0]])
    apart = known._replace(points=points)
    choice = registry["protoar"](points, 10)
    for second_way, arms in ((False, 1), (True, 2)):
        picks = choice.select(apart, 3, partial(np.random.default_rng, 0), second_way=second_way)
        assert len(picks) == arms
    assert picks[-1].arm == 2

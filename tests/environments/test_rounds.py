import pytest

from onward.environments.rounds import Scoreboard


def test_a_decision_counts_what_the_world_says_it_is_worth(world):
    board = Scoreboard(world)
    board.record(0, 3)
    assert board.now.mer == world.expected_reward(0, 3)
    assert board.now.improvement == world.improvement(0, 3)
    assert board.now.cost == world.cost(0, 3)
    assert board.now.regret == world.oracle(0) - world.expected_reward(0, 3)


def test_a_decision_for_nothing_is_worth_nothing_and_is_no_suggestion(world):
    board = Scoreboard(world)
    board.record(0, 3)
    board.record(1, None)
    assert (board.now.rounds, board.now.suggestions) == (2, 1)
    assert (board.now.improvement, board.now.cost) == (world.improvement(0, 3), world.cost(0, 3))
    assert board.now.mer == world.expected_reward(0, 3) / 2
    assert board.now.oracle_mer == pytest.approx((world.oracle(0) + world.oracle(1)) / 2)


def test_the_curve_has_a_point_every_so_many_decisions(world):
    board = Scoreboard(world, every=4)
    for t in range(10):
        board.record(t, 0)
    assert [point.rounds for point in board.curve] == [4, 8]
    assert board.curve[1].mer == pytest.approx(sum(world.expected_reward(t, 0) for t in range(8)) / 8)


def test_nothing_decided_yet_is_no_division_by_zero(world):
    assert Scoreboard(world).now == (0, 0.0, None, None, 0.0, 0.0, 0)

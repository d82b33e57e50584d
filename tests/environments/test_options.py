"""People who can change different features, over real sockets: whom options satisfy, and what is learned of them."""

from __future__ import annotations

from onward.tests.streams.cli.test_demo import KEYS


def test_the_demo_shows_whom_options_satisfy_and_which_people_take(summary_of):
    summary = summary_of("--world", "options", "--people", "40", "--seed", "1")
    assert list(summary) == [*KEYS, "satisfied", "picks", "taken_by_place"]
    assert list(summary["policies"]) == ["emc", "one option"]
    assert summary["dead_letters"] == 0
    satisfied, taken = summary["satisfied"], summary["taken_by_place"]
    assert list(satisfied) == ["first", "last", "one_option", "known", "known_first", "unlearned"]
    assert all(0.0 <= share <= 1.0 for share in satisfied.values())
    assert satisfied["known"] >= max(satisfied["one_option"], satisfied["unlearned"])
    assert sum(taken.values()) == summary["recourse"] // 2
    assert summary["picks"] == sum(taken.values()) - taken.get("none", 0) > 0
    first, last = summary["examples"]
    assert 0.0 < first["satisfied"] <= 1.0
    assert "learned" in (first["execution_source"], last["execution_source"])

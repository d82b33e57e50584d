"""People who are asked, over real sockets: in whatever way they answer, each gets one recourse."""

from __future__ import annotations

from collections import Counter

from onward.environments.elicitation import MANNERS, manners_of
from onward.streams.cli import main
from onward.tests.streams.cli.test_demo import KEYS


def test_the_demo_shows_what_answers_bring(summary_of):
    summary = summary_of("--world", "elicitation", "--people", "24", "--seed", "1")
    assert list(summary) == [*KEYS, "questions"]
    assert list(summary["policies"]) == ["protoar"]
    assert summary["recourse"] == summary["rejected"]
    assert summary["lost"] == summary["conflicting_duplicates"] == 0
    questions = summary["questions"]
    assert list(questions) == ["asked", "answered", "expired", "refused", "regret_by_answers"]
    assert questions["asked"] == questions["answered"] + questions["expired"]
    assert questions["expired"] > 0
    assert questions["refused"] == summary["dead_letters"] > 0
    regret = questions["regret_by_answers"]
    assert len(regret) == 4
    assert all(share >= 0.0 for share in regret)
    assert regret[-1] < 0.1
    assert all("regret" in recourse for recourse in summary["examples"])


def test_a_choice_that_learns_is_refused(capsys):
    assert main(["demo", "--world", "elicitation", "--policies", "linucb"]) == 2
    assert "--policies linucb: linucb learns which options to pick" in capsys.readouterr().err


def test_every_manner_is_as_frequent_as_its_share():
    counts = Counter(manners_of(200, seed=3))
    assert {manner: counts[manner] for manner in MANNERS} == {manner: round(200 * manner.share) for manner in MANNERS}
    assert manners_of(200, seed=3) != manners_of(200, seed=4)

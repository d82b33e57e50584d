"""A peer answers from a process of its own; DiCE itself is asked where it is installed."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from onward.benchmarks.competition.measures import Trials
from onward.benchmarks.competition.peers import PEERS, Count, PeerRecommender, files_of
from onward.benchmarks.peers import process
from onward.benchmarks.peers.process import Kind, PeerError, PeerProcess, installed
from onward.environments.competition import CompetitionPeople, CompetitionRules, draw_world
from onward.tests.support.nearest_peer import FAILS, WAITS

NEAREST = Kind("nearest", "onward.tests.support.nearest_peer", {"count": 2})
PATIENCE_SECONDS = 1.0


@pytest.fixture(scope="module")
def world() -> CompetitionPeople:
    return replace(draw_world(0, features=3, rows=2000), decimals=2)


@pytest.fixture(scope="module")
def nearest(world: CompetitionPeople) -> Iterator[PeerProcess]:
    with PeerProcess(NEAREST, files_of(world, seed=0), PATIENCE_SECONDS) as peer:
        yield peer


def test_the_answer_is_what_the_peer_finds_for_each_person(world: CompetitionPeople, nearest: PeerProcess) -> None:
    files = files_of(world, seed=0)
    people = world.people(np.random.default_rng(1), (4,)).clip(0.01, 0.99)
    required = np.array([0.3, 0.6, 0.9, 1.0])
    first, again = nearest.ask(people, required), nearest.ask(people[:1], required[:1])
    assert first.whose.tolist() == [0, 0, 1, 1, 2, 2]  # nobody has the score 1
    for person, goal, rows in zip(people, required, (first.targets[first.whose == i] for i in range(4)), strict=True):
        good = files.rows[world.score(files.rows) > goal]
        distance = np.sort(np.abs(good - person).sum(axis=1))
        assert np.abs(rows - person).sum(axis=1).tolist() == distance[:2].tolist()
    assert again.targets.tolist() == first.targets[:2].tolist()
    assert first.seconds > 0.0


def test_who_takes_too_long_gets_nothing_and_the_others_do(nearest: PeerProcess) -> None:
    people = np.full((2, 3), 0.5)
    people[0, 0] = WAITS
    assert nearest.ask(people, np.full(2, 0.3)).whose.tolist() == [1, 1]


def test_a_peer_that_fails_is_one_error_with_its_last_words(world: CompetitionPeople) -> None:
    with (
        PeerProcess(NEAREST, files_of(world, seed=0), PATIENCE_SECONDS) as peer,
        pytest.raises(PeerError, match=r"^nearest is left out: ValueError: nobody is like person 7$"),
    ):
        peer.ask(np.full((1, 3), FAILS), np.full(1, 0.3), first_seed=7)


def test_a_peer_that_is_not_installed_is_left_out_with_a_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(process, "BUILD", tmp_path)
    assert installed([*PEERS, NEAREST]) == [NEAREST]
    assert "DiCE genetic is left out: it is not installed (`make install-dice` does it)" in capsys.readouterr().err


def test_a_peer_recommends_in_a_competition(world: CompetitionPeople, nearest: PeerProcess) -> None:
    settings, count = CompetitionRules(difficulty=(0.5, 0.2, 0.9)), Count()
    recommender = PeerRecommender(world, nearest, count)
    found = Trials([world], 1, 6, 0).measure(settings, planner=lambda *_: recommender)
    own = world.people(np.random.default_rng(2), (30,))
    goals = np.full(30, world.score(own).max())
    targets = recommender(own, goals, np.array(settings.difficulty))
    assert 0 < count.found <= count.asked
    assert found.cost[0] > 0.0
    assert (world.score(targets) >= goals).all()
    assert (targets[world.score(own) >= goals] == own[world.score(own) >= goals]).all()


@pytest.mark.parametrize("kind", PEERS, ids=[kind.title for kind in PEERS])
def test_dice_reaches_the_score_that_is_wanted(kind: Kind, world: CompetitionPeople) -> None:
    if not installed([kind]):
        pytest.skip("DiCE is not installed: make install-dice")
    people = world.people(np.random.default_rng(1), (2,))
    with PeerProcess(kind, files_of(world, seed=0), patience_seconds=5.0) as peer:
        found = peer.ask(people, np.full(2, 0.8))
    assert len(found.targets)
    assert (world.score(found.targets) > 0.8).all()

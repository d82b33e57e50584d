"""What picks teach is shared by the shards of a program, as what outcomes teach is."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest

from onward.schemas.events import Answer, Application, Increment, Outcome, Recourse
from onward.streams.engine.picks.population import PickedPopulation
from onward.streams.engine.sharing import increment as increments
from onward.streams.journal.entries import shard_of
from onward.streams.ledger.array_codec import record_decoder
from onward.testing.ledger import dump, rows
from onward.tests.support.shard_cluster import CADENCE, SHARDS, Cluster, bits, outputs, rebuilt

POLICY: Mapping[str, Any] = {"generator": "search", "choice": "emc", "cost": "mixed", "options": 3, "samples": 60}
MIDDLING = {"region": "north", "income": 60.0, "debts": 4}


@pytest.fixture(autouse=True)
def _soon(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(increments, "cadence", lambda _: CADENCE)


def cluster_in(folder: Path, choice: str = "emc", shards: int = SHARDS, **policy: Any) -> Cluster:
    folder.mkdir(exist_ok=True)
    return Cluster(folder, choice=choice, policy={**POLICY, "choice": choice, **policy}, shards=shards)


def people(each: int, shards: Sequence[int] = range(SHARDS)) -> list[int]:
    """As many people of each of these shards."""
    return [
        number
        for shard in shards
        for number in islice((one for one in range(10_000) if shard_of(f"p{one}", SHARDS) == shard), each)
    ]


def applies(cluster: Cluster, number: int) -> None:
    cluster.send("applications", Application("loan", f"p{number}", MIDDLING), f"a{number}")


def say(cluster: Cluster, numbers: Sequence[int], change: int = 0) -> None:
    """Let people say what they would take, and others later, or later something else."""
    for number in numbers:
        option = (None, "1", "2")[(number + change) % 3]
        cluster.send("answers", Answer("loan", f"p{number}", option), f"s{number}-{change}")


def counts(cluster: Cluster) -> dict[int, dict[str, bytes]]:
    """What is believed of the people of each shard."""
    decode = record_decoder(PickedPopulation)
    found = {}
    for place in range(cluster.width):
        for shard, body in rows(cluster.ledger(place), "SELECT shard, body FROM populations"):
            population: PickedPopulation = decode(body)
            found[shard] = bits(population.counts)
    return found


def all_say(cluster: Cluster, numbers: Sequence[int], changes: int = 1) -> dict[int, dict[str, bytes]]:
    """Let all of them apply before any of them says anything, so that the options of all are the same."""
    for number in numbers:
        applies(cluster, number)
    for change in range(changes):
        say(cluster, numbers, change)
        cluster.settle()
    return counts(cluster)


@pytest.mark.parametrize("changes", [1, 2], ids=["said once", "said otherwise later"])
@pytest.mark.parametrize("choice", ["emc", "residual"])
def test_each_shard_believes_of_people_what_one_shard_would(tmp_path, choice, changes):
    several, one = cluster_in(tmp_path / "several", choice), cluster_in(tmp_path / "one", choice, shards=1)
    numbers = people(2 * CADENCE)
    found, [alone] = all_say(several, numbers, changes), all_say(one, numbers, changes).values()
    assert np.frombuffer(alone["seen"]).max() > 0.0
    assert found == dict.fromkeys(range(SHARDS), alone)
    assert not several.letters()


def test_a_shard_in_which_nobody_has_said_anything_believes_what_the_others_told(tmp_path):
    cluster = cluster_in(tmp_path)
    all_say(cluster, people(CADENCE, [0]))
    number = people(1, [1])[0]
    applies(cluster, number)
    cluster.settle()
    log = [record for place in range(2) for record in cluster.broker.logs["recourse", place]]
    recourses = [msgspec.json.decode(record.value, type=Recourse) for record in log]
    [last] = [recourse for recourse in recourses if recourse.shard == 1]
    assert {recourse.execution_source for recourse in recourses if recourse.shard == 0} == {"assumed"}
    assert last.execution_source == "learned"
    say(cluster, [number])
    cluster.settle()
    told, own = (np.frombuffer(counts(cluster)[shard]["seen"]) for shard in (0, 1))
    assert (own - told).max() > 0.0


@pytest.mark.parametrize("policy", [{}, {"cost_parameters": {"memory": 50}}], ids=["no answers", "forgotten answers"])
def test_nothing_is_told_where_there_is_nothing_to_share(tmp_path, policy):
    cluster = cluster_in(tmp_path, **policy)
    numbers = people(2 * CADENCE)
    if policy:
        all_say(cluster, numbers)
    else:
        for number in numbers:
            applies(cluster, number)
            cluster.send("outcomes", Outcome("loan", f"p{number}", "improved"), f"o{number}")
        cluster.settle()
    assert not cluster.told(0) + cluster.told(1)


@pytest.mark.parametrize("choice", ["emc", "residual"])
def test_a_rebuild_from_the_journal_gives_the_same_beliefs_and_bytes(tmp_path, choice):
    cluster = cluster_in(tmp_path, choice)
    for start in (0, 20):
        for number in range(start, start + 20):
            applies(cluster, number)
            say(cluster, [number])
        cluster.people(1000 + start, 1010 + start)
        cluster.settle()
        say(cluster, range(start, start + 10), change=1)
    cluster.settle()
    told = [msgspec.json.decode(record.value, type=Increment) for place in range(2) for record in cluster.told(place)]
    assert {name for one in told for name in one.evidence} >= {"editable", "seen"}
    for together in (1, 7, 10_000):
        again = rebuilt(cluster, f"by {together}", together)
        assert outputs(again) == outputs(cluster.broker)
        for place in range(2):
            assert dump(cluster.ledger(place, f"by {together}")) == dump(cluster.ledger(place))


def test_where_an_increment_was_lost_others_are_learned_and_answers_change(tmp_path):
    cluster = cluster_in(tmp_path)
    lost = iter([True])
    cluster.lost = lambda record: next(lost, False)
    numbers = people(2 * CADENCE, [0])
    all_say(cluster, numbers, changes=2)
    assert cluster.count("missing") == 1
    assert not cluster.letters()
    applies(cluster, people(1, [1])[0])
    cluster.settle()

"""The shards of a program tell each other what they have learned, through the journal."""

from __future__ import annotations

import sqlite3
from collections import defaultdict
from contextlib import closing
from typing import Any

import msgspec
import numpy as np
import pytest

from onward.schemas.events import Application, Increment, Sums
from onward.streams.engine.sharing import evidence as shared_evidence
from onward.streams.engine.sharing import increment as increments
from onward.streams.errors import DamagedLedgerError
from onward.streams.journal.entries import shard_of
from onward.streams.ledger.check import check_ledger
from onward.testing.ledger import dump, rows
from onward.testing.tape import POOR
from onward.tests.support.changed_specs import CHANGES, spec_event
from onward.tests.support.ledgers import cases
from onward.tests.support.shard_cluster import CADENCE, SHARDS, Cluster, bits, outputs, rebuilt, told_evenly


@pytest.fixture(autouse=True)
def _soon(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(increments, "cadence", lambda _: CADENCE)


# --- what shards know ---------------------------------------------------------------------------------------------


def test_every_shard_knows_what_all_have_told_as_one_learner_would(tmp_path):
    cluster = Cluster(tmp_path)
    told_evenly(cluster)
    learned, one = cluster.learned(), cluster.taught()
    assert sorted(learned) == list(range(SHARDS))
    assert {shard: bits(state) for shard, state in learned.items()} == dict.fromkeys(range(SHARDS), bits(one))
    assert cluster.count("told") == 2 * SHARDS
    assert cluster.count("learned") == 2 * SHARDS
    assert not cluster.count("repeated") + cluster.count("missing") + len(cluster.letters())


def test_shards_tell_sooner_the_more_they_are_so_that_as_little_is_untold(monkeypatch):
    monkeypatch.undo()
    assert [increments.cadence(shards) for shards in (2, 4, 6, 12, 24, 1024)] == [10, 10, 8, 4, 2, 2]


def test_what_is_learned_changes_what_other_shards_suggest(tmp_path, monkeypatch):
    def expected(cadence: int, folder: str) -> list[bytes]:
        """What was expected of a stranger's options when they were picked."""
        cluster = Cluster(tmp_path / folder)
        cluster.folder.mkdir()
        monkeypatch.setattr(increments, "cadence", lambda _: cadence)
        for number in range(120):
            if shard_of(f"p{number}", SHARDS) == 0:
                cluster.person(number)
        cluster.settle()
        cluster.send("applications", Application("loan", stranger, POOR), "stranger")
        cluster.settle()
        [case] = [
            case for place in range(2) for case in cases(cluster.ledger(place)) if case.key.application == stranger
        ]
        return [option.context for option in case.options]

    stranger = next(f"s{number}" for number in range(100) if shard_of(f"s{number}", SHARDS) == 1)
    assert expected(CADENCE, "shared") != expected(10**6, "alone")


def test_a_shard_that_is_used_for_the_first_time_knows_what_was_told_before(tmp_path):
    cluster = Cluster(tmp_path)
    of = defaultdict(list)
    for number in range(200):
        of[shard_of(f"p{number}", SHARDS)].append(number)
    for number in of[0][:CADENCE]:
        cluster.person(number)
    cluster.settle()
    for shard in range(1, SHARDS):
        cluster.send("applications", Application("loan", f"p{of[shard][0]}", POOR), f"a{shard}")
    cluster.settle()
    one = bits(cluster.taught())
    assert any(np.frombuffer(sums).any() for sums in one.values())
    assert {shard: bits(state) for shard, state in cluster.learned().items()} == dict.fromkeys(range(SHARDS), one)


@pytest.mark.parametrize(
    "program", [{"shards": 1}, {"choice": "posterior"}], ids=["one shard", "a choice whose evidence does not add up"]
)
def test_nothing_is_told_where_there_is_nothing_to_share(tmp_path, program):
    cluster = Cluster(tmp_path, **program)
    cluster.people(0, 40)
    cluster.settle()
    assert not cluster.told(0) + cluster.told(1)


def test_shards_of_one_partition_tell_each_other_without_a_topic(tmp_path):
    cluster = Cluster(tmp_path, width=1)
    for shard in range(SHARDS):
        name = next(f"p{number}" for number in range(900, 1000) if shard_of(f"p{number}", SHARDS) == shard)
        cluster.send("applications", Application("loan", name, POOR), f"first-{shard}")
    told_evenly(cluster)
    assert not cluster.told(0)
    one = bits(cluster.taught())
    assert {shard: bits(state) for shard, state in cluster.learned().items()} == dict.fromkeys(range(SHARDS), one)


# --- replay -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("together", [1, 7, 10_000])
def test_a_rebuild_from_the_journal_gives_the_same_states_and_bytes(tmp_path, together):
    cluster = Cluster(tmp_path)
    for start in range(0, 60, 20):
        cluster.people(start, start + 20)
        cluster.settle()
    again = rebuilt(cluster, "again", together)
    assert cluster.told(0)
    assert cluster.told(1)
    assert outputs(again) == outputs(cluster.broker)
    for place in range(2):
        assert dump(cluster.ledger(place, "again")) == dump(cluster.ledger(place))


def test_a_worker_that_is_restarted_at_every_record_tells_the_same(tmp_path):
    (tmp_path / "one").mkdir()
    (tmp_path / "other").mkdir()
    one, other = Cluster(tmp_path / "one"), Cluster(tmp_path / "other")
    for cluster, restarts in ((one, False), (other, True)):
        for start in (0, 20):
            cluster.people(start, start + 20)
            cluster.settle(restarts=restarts)
    assert outputs(one.broker) == outputs(other.broker)


def test_damage_to_what_was_told_is_found(tmp_path):
    cluster = Cluster(tmp_path)
    cluster.people(0, 40)
    cluster.settle()
    assert check_ledger(cluster.ledger(0))
    with closing(sqlite3.connect(cluster.ledger(0))) as db, db:
        [(body,)] = db.execute("SELECT body FROM shared_evidence")
        db.execute("UPDATE shared_evidence SET body = ?", (bytes([*body[:-20], body[-20] ^ 1, *body[-19:]]),))
    with pytest.raises(DamagedLedgerError):
        check_ledger(cluster.ledger(0))


# --- copies, gaps and what does not fit ---------------------------------------------------------------------------


def test_a_copy_counts_once(tmp_path):
    cluster = Cluster(tmp_path)
    cluster.people(0, 40)
    cluster.settle()
    before = {shard: bits(state) for shard, state in cluster.learned().items()}
    copies = [*cluster.told(0), *cluster.told(1)]
    for record in copies:
        cluster.tell(record.value, record.partition)
    cluster.settle()
    assert {shard: bits(state) for shard, state in cluster.learned().items()} == before
    # In its own partition a shard's increment was no news the first time.
    assert cluster.count("repeated") == len(copies)
    assert not cluster.letters()


def test_a_gap_is_counted_and_what_comes_after_it_is_learned(tmp_path):
    cluster = Cluster(tmp_path)
    lost = iter([True])
    cluster.lost = lambda record: record.partition == 0 and next(lost, False)
    told_evenly(cluster)
    [missed, *_] = [msgspec.json.decode(record.value, type=Increment) for record in cluster.told(0)]
    assert cluster.count("missing") == 1
    learned, one = cluster.learned(), cluster.taught()
    here = {shard for (shard,) in rows(cluster.ledger(0), "SELECT shard FROM shards")}
    lost_sums = shared_evidence._array("target", missed.evidence["target"], one["target"].shape)
    for shard in range(SHARDS):
        expected = one["target"] if shard in here else one["target"] - lost_sums
        np.testing.assert_array_equal(learned[shard]["target"], expected)


def increment(cluster: Cluster, **fields: Any) -> bytes:
    program = cluster.programs["loan"]
    given = {"program": "loan", "shard": 1, "number": 1, "outcomes": 1, "arms": program.arms_sha256, "evidence": {}}
    return msgspec.json.encode(Increment(**{**given, **fields}))


NEGATIVE = Sums((0,), (-(2**40),))


@pytest.mark.parametrize(
    ("fields", "why"),
    [
        ({"evidence": {"memory": Sums((0,), (1,))}}, "residual shares no sums called memory"),
        ({"evidence": {"target": Sums((9999,), (1,))}}, "1 at places up to 9999 do not fit"),
        ({"evidence": {"target": Sums((0, 1), (1,))}}, "1 at places up to 1 do not fit"),
        ({"evidence": {"information": NEGATIVE}}, "not that of any outcomes"),
        ({"evidence": {"information": Sums((1,), (2**52,))}}, "not that of any outcomes"),
        ({"shard": SHARDS}, f"shard {SHARDS} of program 'loan' has nothing to tell"),
    ],
)
def test_an_increment_that_does_not_fit_is_a_dead_letter(tmp_path, fields, why):
    cluster = Cluster(tmp_path)
    cluster.people(0, 4)
    cluster.settle()
    before = {shard: bits(state) for shard, state in cluster.learned().items()}
    cluster.tell(increment(cluster, **fields))
    cluster.settle()
    letters = cluster.letters()
    assert {(letter.reason, letter.topic) for letter in letters} == {("increment_does_not_fit", "increments")}
    assert all(why in letter.detail for letter in letters)
    assert {shard: bits(state) for shard, state in cluster.learned().items()} == before
    cluster.people(4, 6)
    cluster.settle()


def test_a_program_that_shares_nothing_refuses_increments(tmp_path):
    cluster = Cluster(tmp_path, choice="posterior")
    cluster.people(0, 2)
    cluster.tell(increment(cluster))
    cluster.settle()
    assert {letter.reason for letter in cluster.letters()} == {"increment_does_not_fit"}


@pytest.mark.parametrize(
    "raw",
    [
        b'{"program": "loan", "shard": 0, "number": 0, "outcomes": 1, "arms": "", "evidence": {}}',
        b'{"program": "loan", "shard": 0, "number": 1, "outcomes": 1, "arms": "%s", "evidence": {"target": {"at": [0],'
        b' "units": [1e300]}}}' % (b"0" * 64),
    ],
)
def test_a_malformed_increment_is_refused_by_ingest(tmp_path, raw):
    cluster = Cluster(tmp_path)
    cluster.tell(raw)
    cluster.settle()
    assert [letter.reason for letter in cluster.letters()] == ["wrong_type"]


# --- other arms ---------------------------------------------------------------------------------------------------


def test_of_an_increment_by_other_arms_the_sums_of_single_arms_are_left_out(tmp_path):
    cluster = Cluster(tmp_path)
    cluster.people(0, 10)
    cluster.settle()
    before, teller = cluster.learned(), 2
    here = {shard for (shard,) in rows(cluster.ledger(1), "SELECT shard FROM shards")}
    assert teller in here
    evidence = {"target": Sums((2,), (2**20,)), "arm_target": Sums((0, 9999), (2**20, 5))}
    cluster.tell(increment(cluster, shard=teller, number=50, arms="f" * 64, evidence=evidence))
    cluster.settle()
    after = cluster.learned()
    for shard in before:
        assert (after[shard]["target"] - before[shard]["target"])[2] == (shard not in here)
        np.testing.assert_array_equal(after[shard]["arm_target"], before[shard]["arm_target"])
    assert cluster.count("learned in part") == 1


def test_sharing_goes_on_under_a_changed_spec(tmp_path):
    """A spec that adds arms: what was told before is known to old shards, and to those that come after."""
    features = (
        {"name": "region", "type": "categorical", "categories": ["north", "south"], "mutable": "none"},
        {"name": "income", "type": "continuous", "bounds": [0, 100], "step": 1},
        {"name": "debts", "type": "integer", "bounds": [0, 10], "mutable": "none"},
    )
    cluster = Cluster(tmp_path, features=features, policy={"generator": "search"})
    cluster.people(0, 30)
    cluster.settle()
    program = cluster.programs["loan"]
    spec = CHANGES["a direction"](program.spec)
    cluster.send("specs", spec_event(program, spec), "wider")
    cluster.settle()
    cluster.people(30, 60)
    cluster.settle()
    again = rebuilt(cluster, "again", 5)
    arms = len(program.changed(spec).arms)
    assert arms > len(program.arms)
    assert {len(state["arm_target"]) for state in cluster.learned().values()} == {arms}
    assert outputs(again) == outputs(cluster.broker)
    assert not cluster.letters()
    assert not cluster.count("missing")

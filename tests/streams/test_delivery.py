"""Cases in which a fold could go wrong without anybody noticing: same names, same ids, borders of windows, restarts."""

from __future__ import annotations

import asyncio
from dataclasses import replace

import numpy as np
import pytest
from pipeline import START_MS, Run, Sender, build_program, dump, idle_tick, no_clock

from onward.schemas.events import Application, DeadLetter, Decision, Model, NoRecourse, Outcome, Recourse, Reward
from onward.streams.errors import LedgerError
from onward.streams.keeper import Keeper, Keeping
from onward.streams.metrics import Metrics
from onward.streams.program import Program
from onward.streams.records import TopicPartition

POOR = {"region": "north", "income": 10.0, "debts": 4}
OTHER = {"region": "south", "income": 60.0, "debts": 3}
MINUTE_MS = 60_000
DAY_MS = 24 * 60 * MINUTE_MS
JOURNAL = TopicPartition("journal", 0)
TIMED = {"time": "PT30M", "lateness": "PT0S"}


class Inputs(Sender):
    """Events at minutes after the start."""

    def application(self, name, features=POOR, minute=0.0, id=None, program="loan"):
        event = Application(program, name, features)
        return self._at("applications", event, minute, id or f"application-{name}")

    def decision(self, name, approved=False, minute=1.0, id=None):
        return self._at("decisions", Decision("loan", name, approved), minute, id or f"decision-{name}")

    def outcome(self, name, minute=1.0, result="improved", id=None, program="loan"):
        return self._at("outcomes", Outcome(program, name, result), minute, id or f"outcome-{name}")

    def _at(self, topic, event, minute, id):
        return self.record(topic, event, time_ms=START_MS + round(minute * MINUTE_MS), id=id)


@pytest.fixture
def inputs():
    return Inputs()


def folded(tmp_path, records, *, name="ledger", each=False, tick_minutes=None, programs=None, **program):
    """A run over these records, in one chunk or in chunks of one record."""
    run = Run(programs or {"loan": build_program(**program)}, tmp_path)
    journal = asyncio.run(run.ingest(records))
    if tick_minutes is not None:
        journal.append(idle_tick(run, START_MS + round(tick_minutes * MINUTE_MS)))
    run.ledger = asyncio.run(run.fold(journal, range(len(journal)) if each else (), name=name))
    return run


def fates(run):
    return [(reward.application, reward.fate, reward.reward) for reward in run.events("rewards", Reward)]


def letters(run):
    return [letter.reason for letter in run.events("dead-letters", DeadLetter)]


def same_when_cut(tmp_path, records, **options):
    whole = folded(tmp_path, records, name="whole", **options)
    cut = folded(tmp_path, records, name="cut", each=True, **options)
    return whole.outputs() == cut.outputs() and dump(whole.ledger) == dump(cut.ledger)


def test_two_applications_of_one_name_in_a_chunk_keep_their_own_features(tmp_path, inputs):
    records = [inputs.application("x", POOR, id="first"), inputs.application("x", OTHER, id="second")]
    assert same_when_cut(tmp_path, records)


class Strict:
    def score(self, X):
        return np.where(X[:, 2] > 0.9, 1.0, 0.0)


@pytest.fixture
def with_second_model(monkeypatch):
    program = build_program()
    second = replace(program.bundle, version="v2", manifest_sha256="3" * 64, model=Strict())
    monkeypatch.setattr(Program, "load", lambda self, manifest, sha256: second)
    return {"loan": program}


def second_model(inputs):
    return inputs.record("models", Model("loan", "v2", "anywhere", "3" * 64), time_ms=START_MS, id="model")


def test_a_new_model_decides_from_its_own_record_on(tmp_path, inputs, with_second_model):
    rich = {"region": "north", "income": 85.0, "debts": 0}
    records = [inputs.application("x"), second_model(inputs), inputs.application("rich", rich)]
    assert same_when_cut(tmp_path, records, programs=with_second_model)
    run = folded(tmp_path, records, programs=with_second_model)
    assert [(answer.application, answer.model) for answer in run.events("recourse", Recourse | NoRecourse)] == [
        ("x", "v1"),
        ("rich", "v2"),
    ]


def test_a_restarted_worker_goes_on_with_the_newest_model(tmp_path, inputs, with_second_model):
    run = Run(with_second_model, tmp_path)
    journal = asyncio.run(run.ingest([second_model(inputs), inputs.application("x")]))
    asyncio.run(run.fold(journal[:-1]))
    asyncio.run(run.fold(journal))
    assert [answer.model for answer in run.events("recourse", Recourse)] == ["v2"]


def test_an_outcome_that_is_known_to_have_failed_is_rewarded_with_zero(tmp_path, inputs):
    run = folded(tmp_path, [inputs.application("x"), inputs.outcome("x", result="not_improved")])
    assert fates(run) == [("x", "rewarded", 0.0)]


@pytest.mark.parametrize(("minute", "fate"), [(30, "rewarded"), (30.001, "late")])
def test_the_deadline_itself_is_in_the_window(tmp_path, inputs, minute, fate):
    records = [inputs.application("x"), inputs.application("y", minute=minute), inputs.outcome("x", minute=minute)]
    run = folded(tmp_path, records, window=TIMED)
    assert fate in [found for _, found, _ in fates(run)]


def test_a_window_stays_open_for_the_lateness(tmp_path, inputs):
    records = [
        inputs.application("x"),
        inputs.application("y", minute=35),
        inputs.outcome("nobody", minute=35),
        inputs.outcome("x", minute=30),
    ]
    run = folded(tmp_path, records, window={"time": "PT30M", "lateness": "PT5M"})
    assert ("x", "rewarded", 1.0) in fates(run)


@pytest.mark.parametrize(("minute", "fate"), [(1, "dangling"), (4, "rewarded")])
def test_an_outcome_well_before_its_recourse_dangles(tmp_path, inputs, minute, fate):
    records = [inputs.application("x", minute=5), inputs.outcome("x", minute=minute)]
    run = folded(tmp_path, records, window={"time": "PT30M", "lateness": "PT2M"})
    assert [found for _, found, _ in fates(run)] == [fate]


def test_a_bad_record_moves_no_clock(tmp_path, inputs):
    far = 12 * 60
    bad = inputs.application("bad", {**POOR, "income": -1.0}, minute=far)
    records = [inputs.application("x"), inputs.outcome("nobody", minute=far), bad, inputs.outcome("x", minute=10)]
    run = folded(tmp_path, records, window=TIMED)
    assert fates(run) == [("x", "rewarded", 1.0)]


def test_what_waited_is_applied_decisions_first(tmp_path, inputs):
    records = [inputs.outcome("x", minute=2), inputs.decision("x"), inputs.application("x")]
    run = folded(tmp_path, records, decisions="external")
    assert fates(run) == [("x", "rewarded", 1.0)]


def test_a_decision_and_an_outcome_may_have_the_same_id(tmp_path, inputs):
    records = [inputs.decision("x", id="1"), inputs.outcome("x", minute=2, id="1"), inputs.application("x", id="1")]
    run = folded(tmp_path, records, decisions="external")
    assert fates(run) == [("x", "rewarded", 1.0)]


def test_a_dangling_outcome_hides_no_other_program_s_outcome_of_the_same_id(tmp_path, inputs):
    programs = {name: build_program(name) for name in ("a", "b")}
    records = [
        inputs.application("x", program="b"),
        inputs.application("rich", {"region": "north", "income": 100.0, "debts": 0}, program="a"),
        inputs.outcome("rich", id="1", program="a"),
        inputs.outcome("x", id="1", program="b"),
    ]
    run = folded(tmp_path, records, programs=programs)
    assert fates(run) == [("rich", "dangling", None), ("x", "rewarded", 1.0)]


def test_the_window_begins_with_the_later_of_application_and_decision(tmp_path, inputs):
    early, late = inputs.application("early"), inputs.application("late", minute=10)
    records = [early, late, inputs.decision("early", minute=7), inputs.decision("late", minute=9.5)]
    run = folded(tmp_path, records, decisions="external", window={"time": "PT30M", "lateness": "PT1M"})
    closes = {answer.application: answer.closes_at[11:19] for answer in run.events("recourse", Recourse)}
    start = START_MS // MINUTE_MS % (24 * 60)
    assert closes == {
        "early": f"{(start + 37) // 60 % 24:02d}:{(start + 37) % 60:02d}:20",
        "late": f"{(start + 40) // 60 % 24:02d}:{(start + 40) % 60:02d}:20",
    }


def test_what_was_given_up_is_known_when_it_is_repeated(tmp_path, inputs):
    first = [inputs.decision("nobody"), inputs.outcome("nobody")]
    again = [inputs.decision("nobody"), inputs.outcome("nobody")]
    run = Run({"loan": build_program(decisions="external")}, tmp_path)
    journal = list(asyncio.run(run.ingest(first)))
    log = run.broker.logs["journal", 0]
    log.append(idle_tick(run, START_MS + DAY_MS // 2))
    asyncio.run(run.ingest(again))
    log.append(idle_tick(run, START_MS + DAY_MS))
    assert len(log) > len(journal)
    asyncio.run(run.fold(log))
    assert letters(run) == ["decision_without_application"]
    assert fates(run) == [("nobody", "dangling", None)]


def test_the_ledger_forgets_features_with_the_decision(tmp_path, inputs):
    features = {**POOR, "income": 12.3456789}
    waiting = folded(tmp_path, [inputs.application("x", features)], decisions="external")
    assert b"12.3456789".hex().upper() in "".join(dump(waiting.ledger))
    again = Inputs()
    records = [again.application("x", features), again.decision("x")]
    decided = folded(tmp_path / "decided", records, decisions="external")
    assert b"12.3456789".hex().upper() not in "".join(dump(decided.ledger))


def test_an_application_that_comes_after_its_time_is_still_answered_once(tmp_path, inputs):
    records = [inputs.application("now"), inputs.outcome("nobody")]
    records += [inputs.application("old", minute=-40 * 24 * 60) for _ in range(3)]
    run = folded(tmp_path, records, candidates=1)
    answers = [answer.application for answer in run.events("recourse", Recourse | NoRecourse)]
    assert sorted(answers) == ["now", "old"]


def test_a_name_may_be_used_again_after_the_retention(tmp_path, inputs):
    run = Run({"loan": build_program(decisions="external")}, tmp_path)
    asyncio.run(run.ingest([inputs.application("x")]))
    log = run.broker.logs["journal", 0]
    log.append(idle_tick(run, START_MS + 40 * DAY_MS))
    asyncio.run(run.ingest([inputs.application("x", OTHER, id="again"), inputs.decision("x", minute=2)]))
    whole = dump(asyncio.run(run.fold(log, name="whole")))
    outputs = run.outputs()
    cut = Run(run.programs, tmp_path)
    assert dump(asyncio.run(cut.fold(log, range(len(log)), name="cut"))) == whole
    assert cut.outputs() == outputs
    assert letters(run) == []


def test_a_second_keeper_of_the_same_ledger_is_refused_when_it_writes(tmp_path, inputs):
    run = Run({"loan": build_program()}, tmp_path)
    journal = asyncio.run(run.ingest([inputs.application(f"p{number}") for number in range(6)]))

    async def two_keepers():
        first, second = (
            Keeper(run.topics, run.programs, run.broker, Metrics(), no_clock, Keeping(tmp_path / "ledger"))
            for _ in range(2)
        )
        await first.assigned([JOURNAL])
        await second.assigned([JOURNAL])
        await second.handle(journal)
        with pytest.raises(LedgerError, match="another worker"):
            await first.handle(journal[:3])

    asyncio.run(two_keepers())


def test_a_ledger_goes_on_only_with_the_program_and_the_journal_it_was_written_with(tmp_path, inputs):
    run = folded(tmp_path, [inputs.application("x")])
    changed = {"loan": replace(run.programs["loan"], sha256="9" * 64)}
    with pytest.raises(LedgerError, match="spec of program 'loan'"):
        asyncio.run(Run(changed, tmp_path, broker=run.broker).fold([]))
    with pytest.raises(LedgerError, match="journal ends at 0"):
        asyncio.run(Run(run.programs, tmp_path).fold([]))


def test_outputs_of_another_journal_are_not_taken_for_one_s_own(tmp_path, inputs):
    run = folded(tmp_path, [inputs.application(f"p{number}") for number in range(3)])
    made_anew = Run(run.programs, tmp_path, broker=run.broker)
    del run.broker.logs["journal", 0]
    journal = asyncio.run(made_anew.ingest([Inputs().application("first")]))
    with pytest.raises(LedgerError, match="another journal's"):
        asyncio.run(made_anew.fold(journal, name="fresh"))


def test_a_name_used_again_while_its_first_window_is_open_ties_with_nothing(tmp_path, inputs):
    run = Run({"loan": build_program(window={"time": "P90D"})}, tmp_path)
    asyncio.run(run.ingest([inputs.application("x"), inputs.outcome("x")]))
    log = run.broker.logs["journal", 0]
    log.append(idle_tick(run, START_MS + 40 * DAY_MS))
    asyncio.run(run.ingest([inputs.application("x")]))
    log.append(idle_tick(run, START_MS + 100 * DAY_MS))
    asyncio.run(run.fold(log))
    assert len(run.events("recourse", Recourse)) == 2

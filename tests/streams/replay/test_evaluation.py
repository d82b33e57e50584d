"""Policies evaluated on journals: what is replayed is what events, and nothing of the future is known."""

from __future__ import annotations

from contextlib import closing
from dataclasses import replace

import msgspec
import numpy as np
import pytest

from onward.schemas.events import NoRecourse, Recourse, Reward
from onward.streams.errors import BrokerError, UsageError
from onward.streams.ledger.check import check_copy
from onward.streams.ledger.file import copy_ledger
from onward.streams.ledger.one_program import drop_other_programs
from onward.streams.programs.program import Program
from onward.streams.programs.spec_check import completed
from onward.streams.records import TopicPartition
from onward.streams.replay.evaluation import PolicyEvaluator, check_alike, with_choice, without_exploration
from onward.streams.replay.journal_replay import JournalReplay, ReplayedFate, ReplayedStep
from onward.streams.topics import Topics
from onward.testing.ledger import rows
from onward.testing.memory_broker import MemoryBroker
from onward.testing.pipeline import PipelineRun
from onward.testing.program import FEATURES, build_program
from onward.testing.tape import MINUTE_MS, POOR, RICH, Tape
from onward.tests.streams.engine.rounds.stories import HOUR_MS, Story, announcement, limited
from onward.tests.support.changed_specs import announce, feature

PEOPLE, SHARE = 40, 0.5
JOURNAL = TopicPartition("journal", 0)
WINDOWS = {"steps": {"steps": 3}, "time": {"time": "PT10M", "lateness": "PT1M"}}
DETERMINISTIC = ["residual", "stages", "linucb", "posterior", "protoar"]


def with_policy(program, **changes):
    policy = msgspec.structs.replace(program.spec.policy, **changes)
    return replace(program, spec=msgspec.structs.replace(program.spec, policy=policy))


def exploring(choice="linucb", window="steps", share=SHARE):
    return with_policy(build_program(choice=choice, window=WINDOWS[window]), exploration=share)


def story(program, directory):
    """People who come by the minute; of what they were told some comes true, and some never saw it. Another program's
    people come between them."""
    other = build_program("other", window={"time": "PT5M"})
    tape = Tape(PipelineRun({program.name: program, other.name: other}, directory))
    for minute in range(PEOPLE):
        features = {"region": ("north", "south")[minute % 2], "income": 10.0 + minute % 7, "debts": 4 + minute % 3}
        tape.applies(f"p{minute}", minute * MINUTE_MS, features=RICH if minute == 5 else features)
        tape.applies(f"q{minute}", minute * MINUTE_MS, features=features, program="other")
        if minute % 5 == 3:
            tape.outcome(f"p{minute - 1}", minute * MINUTE_MS, result="unseen")
        elif minute % 2:
            tape.outcome(f"p{minute - 1}", minute * MINUTE_MS)
        tape.tick(minute * MINUTE_MS)
    tape.fold()
    return tape


def replayed(program, records, directory):
    """Steps and closings of a journal."""
    with closing(JournalReplay(program, Topics(), JOURNAL, directory)) as fold:
        return [one for record in records for one in fold.feed(record)] + list(fold.rest())


def evaluated(program, target, events):
    evaluator = PolicyEvaluator(program, target)
    for one in events:
        if isinstance(one, ReplayedStep):
            evaluator.step(one)
        else:
            evaluator.close(one)
    return evaluator.evaluation()


@pytest.mark.parametrize("window", WINDOWS)
def test_a_journal_folded_again_gives_what_was_published(window, tmp_path):
    program = exploring(window=window)
    tape = story(program, tmp_path)
    events = replayed(program, tape.journal, tmp_path / "again")
    answers = [answer for answer in tape.answers() if answer.program == program.name]
    steps = [one for one in events if isinstance(one, ReplayedStep)]
    assert [(step.number, str(step.picked[0][0]), step.picked[0][1]) for step in steps] == [
        (answer.step, answer.options[0].candidate, answer.options[0].propensity) for answer in answers
    ]
    assert {answer.policy_version for answer in answers} == {program.policy_version}
    closings = {one.number: one.reward for one in events if isinstance(one, ReplayedFate)}
    rewards = [event for event in tape.run.events("rewards", Reward) if event.program == program.name]
    assert closings == {event.step: event.reward for event in rewards}
    assert {0.0, 1.0, None} == set(closings.values())
    options, [(arm, _)] = steps[7].options, steps[7].picked
    assert options.execution[options.arm.tolist().index(arm)] == answers[7].options[0].execution_probability


def test_a_window_closes_by_the_events_of_another_program_in_a_replay_too(tmp_path):
    program, other = (build_program(name, window=WINDOWS["time"]) for name in ("loan", "other"))
    tape = Tape(PipelineRun({"loan": program, "other": other}, tmp_path))
    tape.applies("p")
    tape.applies("q", 60 * MINUTE_MS, program="other")
    tape.outcome("q", 60 * MINUTE_MS, program="other")
    tape.fold()
    assert ("p", "censored") in tape.fates()
    closings = [one for one in replayed(program, tape.journal, tmp_path / "again") if isinstance(one, ReplayedFate)]
    assert [one.censored for one in closings] == [True]


def ledger_after(tape, records, directory):
    """The ledger of a worker that has folded these records of a journal, one program of it, where a replay finds it."""
    head = Tape(PipelineRun(tape.run.programs, directory / "worker"))
    head.run.broker.logs["journal", 0] = list(records)
    (directory / "replay").mkdir(parents=True)
    copy_ledger(head.fold(), directory / "replay" / "0.sqlite", lambda: None)
    return directory / "replay"


def plain(events):
    """What can be compared of events."""
    return [
        (one.number, one.picked, one.policy_version, *(field.tolist() for field in one.options[:5]))
        if isinstance(one, ReplayedStep)
        else one
        for one in events
    ]


@pytest.mark.parametrize("part", [1, 2])
@pytest.mark.parametrize("window", WINDOWS)
def test_a_replay_from_a_ledger_gives_what_the_whole_journal_gives_from_there_on(window, part, tmp_path):
    program = exploring(window=window)
    tape = story(program, tmp_path)
    cut = len(tape.journal) * part // 4
    folder = ledger_after(tape, tape.journal[:cut], tmp_path / "cut")
    assert {name for (name,) in rows(folder / "0.sqlite", "SELECT program FROM programs")} == {"loan", "other"}
    drop_other_programs(folder / "0.sqlite", program.name)
    check_copy(folder / "0.sqlite")
    whole = replayed(program, tape.journal, tmp_path / "whole")
    before = replayed(program, tape.journal[:cut], tmp_path / "before")
    after = replayed(program, tape.journal[cut:], folder)
    assert plain(before) + plain(after) == plain(whole)
    first = min(one.number for one in after if isinstance(one, ReplayedStep))
    fates = [one for one in after if isinstance(one, ReplayedFate)]
    found = evaluated(program, with_choice(program, "posterior", {}), after)
    assert found.earlier == sum(one.number < first for one in fates) > 0
    assert found.answered == sum(isinstance(one, ReplayedStep) for one in after)
    own = [one.reward for one in fates if first <= one.number < first + found.answered - found.unfinished]
    known = [reward for reward in own if reward is not None]
    assert len(known) == found.evaluation.steps
    assert found.evaluation.logged.value == pytest.approx(np.mean(known))


@pytest.mark.parametrize("choice", DETERMINISTIC)
@pytest.mark.parametrize("window", WINDOWS)
def test_a_policy_on_its_own_log_wants_what_was_taken_unless_that_was_drawn(choice, window, tmp_path):
    program = exploring(choice, window)
    events = replayed(program, story(program, tmp_path).journal, tmp_path / "again")
    steps = {one.number: one for one in events if isinstance(one, ReplayedStep)}
    found = evaluated(program, program, events)
    finished = found.evaluation.steps + found.unseen
    assert finished + found.unfinished == len(steps) == PEOPLE - 1
    assert 0 < found.unfinished < 15
    seen = [
        steps[one.number]
        for one in events
        if isinstance(one, ReplayedFate) and one.reward is not None and one.number < finished
    ]
    greedy = [step for step in seen if step.picked[0][1] > SHARE]
    assert 0 < found.evaluation.matched == len(greedy) < len(seen) == found.evaluation.steps


def test_steps_of_several_options_are_evaluated_by_the_option_that_was_taken_up(tmp_path):
    program = with_policy(exploring("posterior"), options=2)
    tape = Tape(PipelineRun({program.name: program}, tmp_path))
    for minute in range(PEOPLE):
        tape.applies(f"p{minute}", minute * MINUTE_MS, features={"region": "north", "income": 10.0, "debts": 4})
        tape.outcome(f"p{minute}", minute * MINUTE_MS + 1, option=("1", "2", None)[minute % 3])
    tape.fold()
    events = replayed(program, tape.journal, tmp_path / "again")
    named = [one for one in events if isinstance(one, ReplayedFate) and one.arm is not None]
    assert all(len(one.picked) == 2 for one in events if isinstance(one, ReplayedStep))
    found = evaluated(program, with_policy(program, options=1), events)
    assert (found.evaluation.steps, found.unnamed, found.unfinished) == (len(named), PEOPLE - len(named), 0)
    assert found.evaluation.logged.value == 1.0
    row = evaluated(program, with_policy(program, options=3), events).evaluation
    assert row.matched == row.steps


@pytest.mark.parametrize("choice", DETERMINISTIC)
def test_a_policy_of_several_options_learns_from_silence_as_it_did_in_the_log(choice, tmp_path):
    """Its own log has its picks at every step that was not drawn."""
    program = with_policy(exploring(choice), options=2)
    events = replayed(program, story(program, tmp_path).journal, tmp_path / "again")
    evaluator = PolicyEvaluator(program, program)
    for one in events:
        evaluator.step(one) if isinstance(one, ReplayedStep) else evaluator.close(one)
    rows = [row for shard in evaluator._shards.values() for row in shard.rows.values()]
    own = [all(option.propensity > SHARE for option in row.taken) for row in rows]
    assert own == [all(option.wanted for option in row.taken) for row in rows]
    assert {False, True} == set(own)


def test_a_policy_learns_nothing_from_what_comes_later(tmp_path):
    """The same picks and the same expectations at every step, however the log goes on."""
    program = exploring()
    target = with_choice(program, "posterior", {"focus": 2.0})
    events = replayed(program, story(program, tmp_path).journal, tmp_path / "again")
    middle = len(events) // 2
    whole, half = PolicyEvaluator(program, target), PolicyEvaluator(program, target)
    rows = []
    for evaluator, part in ((whole, events), (half, events[:middle])):
        for one in part:
            evaluator.step(one) if isinstance(one, ReplayedStep) else evaluator.close(one)
        rows.append([(row.taken, row.wanted) for row in evaluator._shards[0].rows.values()])
    assert rows[0][: len(rows[1])] == rows[1]
    assert len(rows[1]) > 12
    assert {taken[0].wanted for taken, _ in rows[0]} == {False, True}


def test_without_exploration_there_is_no_number(tmp_path):
    program = exploring(share=0.0)
    events = replayed(program, story(program, tmp_path).journal, tmp_path / "again")
    result = evaluated(program, with_choice(program, "protoar", {}), events)
    found = result.evaluation
    assert found.unexplored > 0
    assert result.silent <= found.steps, "steps that are left out are not counted as silent either"
    assert found.doubly_robust is None
    assert "`exploration` above 0" in found.doubt
    own = evaluated(program, program, events).evaluation
    assert (own.unexplored, own.matched) == (0, own.steps)


def test_exploration_of_nothing_changes_no_byte_and_chunks_change_none_of_some(tmp_path):
    outputs = []
    for name, program in (("plain", build_program(window=WINDOWS["steps"])), ("none", exploring(share=0.0))):
        outputs.append(story(program, tmp_path / name).run.outputs())
    assert outputs[0] == outputs[1]
    whole = story(exploring("posterior"), tmp_path / "whole")
    again = Tape(PipelineRun(whole.run.programs, tmp_path / "again"))
    again.run.broker = MemoryBroker()
    again.run.broker.logs["journal", 0] = list(whole.journal)
    again.fold(parts=[[record] for record in whole.journal])
    assert again.run.outputs() == whole.run.outputs() != outputs[0]


@pytest.mark.parametrize(
    "change",
    [
        {"choice": "posterior"},
        {"parameters": {"regularisation": 30.0}},
        {"exploration": 0.1},
        {"seed": 1},
        {"cost": "max_percentile_shift"},
        {"window": msgspec.structs.replace(build_program().spec.policy.window, steps=11)},
    ],
    ids=lambda change: next(iter(change)),
)
def test_the_version_of_a_policy_changes_with_it(change):
    assert with_policy(build_program(), **change).policy_version != build_program().policy_version


def test_the_version_of_a_policy_is_not_changed_by_what_is_default_anyway_but_by_the_code(monkeypatch):
    program = build_program()
    choice = type(program.learner())
    default = choice.parameters()["regularisation"].default
    version = build_program().policy_version
    assert with_policy(build_program(), parameters={"regularisation": default}).policy_version == version
    monkeypatch.setattr(choice, "revision", 2)
    assert build_program().policy_version != version


def test_a_log_is_evaluated_across_a_spec_that_adds_arms(tmp_path):
    features = [{**one, "mutable": "none"} if one["name"] == "debts" else one for one in FEATURES]
    program = with_policy(
        build_program(choice="posterior", features=features, policy={"generator": "search"}), exploration=SHARE
    )
    tape = Tape(PipelineRun({"loan": program}, tmp_path))
    for minute in range(PEOPLE):
        if minute == PEOPLE // 2:
            announce(tape, feature("debts", mutable="down"), minute * MINUTE_MS)
        tape.applies(f"p{minute}", minute * MINUTE_MS, features={**POOR, "income": 57.0 + minute % 4})
        tape.outcome(f"p{minute}", minute * MINUTE_MS)
    events = replayed(program, tape.journal, tmp_path / "again")
    last = program.changed(feature("debts", mutable="down")(program.spec))
    arms = [int(arm) for one in events if isinstance(one, ReplayedStep) for arm in one.options.arm]
    assert len(program.arms) <= max(arms) < len(last.arms)
    versions = [one.policy_version for one in events if isinstance(one, ReplayedStep)]
    assert set(versions) == {program.policy_version, last.policy_version}
    for choice in DETERMINISTIC:
        found = evaluated(last, without_exploration(with_choice(last, choice, {})), events)
        assert found.answered == PEOPLE
        assert found.evaluation.steps > 0


def test_the_running_choice_is_the_running_policy():
    """Also where the spec has completed its parameters otherwise than the choice's own defaults."""
    program = build_program(choice="residual", policy={"generator": "search", "objective": "improvement"})
    spec = completed(program.spec)
    program = with_policy(program, parameters={**spec.policy.parameters, "optimism": 0.25})
    assert with_choice(program, "residual", {}).spec.policy.parameters == {"optimism": 0.25, "arm_sd": 0.0}
    assert with_choice(program, "residual", {"optimism": 0.0}).spec.policy.parameters == {
        "optimism": 0.0,
        "arm_sd": 0.0,
    }
    linucb = with_policy(program, choice="linucb", parameters={})
    assert with_choice(linucb, "residual", {}).spec.policy.parameters["arm_sd"] == 0.0


def test_what_cannot_be_evaluated_is_refused(tmp_path):
    program = exploring()
    with pytest.raises(UsageError, match="there is no choice 'lin'"):
        with_choice(program, "lin", {})
    with pytest.raises(UsageError, match="no verifier, which tap needs"):
        with_choice(program, "tap", {})
    with pytest.raises(UsageError, match=r"the specs differ in shards: only `program` and `policy` may differ"):
        check_alike(program, build_program(shards=2))
    with pytest.raises(UsageError, match="the candidates of models v1 and v1 differ"):
        check_alike(program, replace(program, points=np.flip(program.points)))
    for field, other in (("generator", "linear"), ("goal", "fixed"), ("goal_parameters", {"score": 0.7})):
        with pytest.raises(UsageError, match=f"the specs differ in policy.{field}: "):
            check_alike(program, with_policy(program, **{field: other}))
    check_alike(program, build_program("another", choice="protoar"))
    journal = list(story(program, tmp_path).journal)
    with pytest.raises(BrokerError, match="journal partition 0 begins at offset 3"):
        replayed(program, journal[3:], tmp_path / "again")


def rounds_story(program, directory):
    """A round that refuses somebody who applied twice, tells somebody to apply again, and gives the others options."""
    tape = Story(PipelineRun({program.name: program}, directory))
    tape.send("rounds", announcement(1, 0), 0, "r")
    for number, income in enumerate([60, 30, 20, 25]):
        tape.applies_with(f"a{number}", (number + 1) * MINUTE_MS, income, applicant=f"person {number % 3}")
    tape.tick(HOUR_MS + 6 * MINUTE_MS)
    tape.outcome("a2", HOUR_MS + 7 * MINUTE_MS)
    tape.tick(12 * HOUR_MS)
    tape.fold()
    return tape


def test_rounds_are_replayed_with_the_steps_of_those_who_get_no_options(tmp_path):
    program = limited(goal="fixed", goal_parameters={"score": 0.6}, choice="linucb", exploration=SHARE)
    tape = rounds_story(program, tmp_path)
    events = replayed(program, tape.journal, tmp_path / "again")
    steps = {one.number: [str(arm) for arm, _ in one.picked] for one in events if isinstance(one, ReplayedStep)}
    answers = tape.answers()
    assert steps == {
        answer.step: [option.candidate for option in answer.options] if isinstance(answer, Recourse) else []
        for answer in answers
    }
    refused = [answer.reason for answer in answers if isinstance(answer, NoRecourse)]
    assert {"applied_twice", "apply_again"} <= set(refused)
    found = evaluated(program, with_choice(program, "posterior", {}), events)
    assert (found.without_recourse, found.answered) == (len(refused), len(answers))


def test_rounds_are_replayed_from_a_ledger_in_the_middle_of_one(tmp_path):
    program = limited(goal="fixed", goal_parameters={"score": 0.6}, choice="linucb", exploration=SHARE)
    tape = rounds_story(program, tmp_path)
    whole = plain(replayed(program, tape.journal, tmp_path / "whole"))
    for cut in range(2, len(tape.journal)):
        before = replayed(program, tape.journal[:cut], tmp_path / f"before-{cut}")
        folder = ledger_after(tape, tape.journal[:cut], tmp_path / f"cut-{cut}")
        assert plain(before) + plain(replayed(program, tape.journal[cut:], folder)) == whole


def test_the_success_that_rounds_have_learned_holds_for_every_policy(tmp_path):
    program = limited(goal="fixed", goal_parameters={"score": 0.6}, choice="protoar")
    events = replayed(program, rounds_story(program, tmp_path).journal, tmp_path / "again")
    found = evaluated(program, replace(program, nu=0.0), events)
    assert found == evaluated(program, program, events)


def test_other_costs_are_those_of_the_evaluated_policy(tmp_path):
    """With nu 0 everything is equally easy, and ProtoAR takes the first; its own cost gives the easiest."""
    program: Program = exploring("protoar")
    events = replayed(program, story(program, tmp_path).journal, tmp_path / "again")
    careless = replace(program, nu=0.0)
    found = evaluated(program, careless, events).evaluation
    seen = {one.number for one in events if isinstance(one, ReplayedFate) and one.reward is not None}
    steps = [one for one in events if isinstance(one, ReplayedStep) and one.number in seen][: found.steps]
    assert found.matched == sum(step.picked[0][0] == step.options.arm[0] for step in steps)


def test_failures_that_are_known_later_than_successes_do_not_raise_what_is_expected(tmp_path):
    """Rewards are expected of the steps up to the first open one, and of every option that was suggested."""
    program = with_policy(exploring("posterior", "time", 1.0), options=2)
    events = replayed(program, story(program, tmp_path).journal, tmp_path / "again")
    options = max((one.options for one in events if isinstance(one, ReplayedStep)), key=lambda each: each.number)
    random, later = np.random.default_rng(0), 300
    evaluator = PolicyEvaluator(program, without_exploration(with_choice(program, "protoar", {})))
    due = []
    for number in range(2 * later):
        arms = random.permutation(options.arm)[:2].tolist()
        picked = tuple((arm, 2 / options.number) for arm in arms)
        evaluator.step(ReplayedStep(0, number, options, picked, program.policy_version))
        if random.random() < 0.1:
            evaluator.close(ReplayedFate(0, number, 1.0, arms[0], False))
        else:
            due.append(number)
        while due and due[0] <= number - later:
            evaluator.close(ReplayedFate(0, due.pop(0), 0.0, None, True))
    for number in due:
        evaluator.close(ReplayedFate(0, number, 0.0, None, True))
    found = evaluator.evaluation().evaluation
    assert found.steps == 2 * later
    # Nothing is known in the first half, so that half of the estimate is as wide as what is expected there is wrong.
    assert found.doubly_robust.error < 1.6 * found.snips.error
    assert found.doubly_robust.low < 0.1 < found.doubly_robust.high


def test_a_success_of_one_option_counts_against_those_beside_it_once_all_before_are_known(tmp_path):
    program = with_policy(exploring("posterior", "time", 1.0), options=2)
    events = replayed(program, story(program, tmp_path).journal, tmp_path / "again")
    options = next(one.options for one in events if isinstance(one, ReplayedStep) and one.options.number > 2)
    first, *others = options.arm.tolist()
    picked = tuple((arm, 2 / options.number) for arm in (first, others[0]))
    evaluator = PolicyEvaluator(program, without_exploration(with_choice(program, "protoar", {})))
    shards, steps = evaluator._shards, 50
    for number in range(steps):
        evaluator.step(ReplayedStep(0, number, options, picked, program.policy_version))
        if number:
            evaluator.close(ReplayedFate(0, number, 1.0, first, False))
    # The first is still open.
    assert len({row.wanted for row in shards[0].rows.values()}) == 1
    evaluator.close(ReplayedFate(0, 0, 0.0, None, True))
    evaluator.step(ReplayedStep(0, steps, options, picked, program.policy_version))
    assert [option.expected < 0.1 for option in shards[0].rows[steps].taken] == [False, True]

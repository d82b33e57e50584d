"""A recourse says where its execution probabilities come from, and what they predicted is held against the rewards."""

from __future__ import annotations

from collections import Counter

import msgspec
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from prometheus_client.parser import text_string_to_metric_families

from onward.streams.engine.rewards.watch import DECILES, decile_of, tenth_of
from onward.streams.engine.rounds.forecast import success_of
from onward.streams.engine.rounds.promised_scores import PromisedScore
from onward.streams.engine.rounds.state import ProgramRounds
from onward.streams.ledger.checksum import without_checksum
from onward.testing.ledger import rows
from onward.testing.tape import MINUTE_MS, TIMED, tape
from onward.tests.support.exposition import expose

TOLD = {"nu": 0.5}
ASSUMED = {"assumed_nu": 0.5}


@pytest.mark.parametrize(
    ("choice", "policy", "source"),
    [
        ("linucb", {}, "assumed"),
        ("linucb", TOLD, "told"),
        ("residual", {}, "assumed"),
        ("residual", ASSUMED, "assumed"),
        ("residual", TOLD, "told"),
    ],
)
def test_a_recourse_names_the_source(tmp_path, choice, policy, source):
    story = tape(tmp_path, choice=choice, policy=policy)
    story.applies("x")
    story.fold()
    [answer] = story.answers()
    assert answer.execution_source == source
    assert answer.options[0].learned_execution_probability is None
    assert (f"with probability {answer.options[0].execution_probability:.2f}" in str(answer)) == (source == "told")


def test_an_assumed_nu_counts_as_a_told_one_does(tmp_path):
    chances = []
    for name, policy in (("told", TOLD), ("assumed", ASSUMED)):
        story = tape(tmp_path / name, choice="residual", policy=policy)
        story.applies("x")
        story.fold()
        [answer] = story.answers()
        chances.append([option.execution_probability for option in answer.options])
    assert chances[0] == chances[1]


def with_outcomes(folder, result="improved", **policy):
    """Thirty people, some with harder ways to go than others, who all come back with this result."""
    story = tape(folder, policy={"choice": "residual", **policy}, candidates=24, **TIMED)
    for number in range(30):
        features = {"region": "north", "income": 10.0 + 50.0 * (number % 2), "debts": 8 - 4 * (number % 2)}
        story.applies(f"p{number}", number * MINUTE_MS, features=features)
        story.outcome(f"p{number}", number * MINUTE_MS + 1, result=result, option="1")
    story.fold()
    return story


def test_it_is_learned_once_outcomes_have_taught_enough(tmp_path):
    story = with_outcomes(tmp_path)
    sources = [answer.execution_source for answer in story.answers()]
    assert sources == sorted(sources)
    assert (sources[1], sources[-1]) == ("assumed", "learned")
    for answer in story.answers():
        learned = answer.options[0].learned_execution_probability
        assert (learned is not None) == (answer.execution_source == "learned")


def test_every_option_of_a_learner_has_its_own_estimate(tmp_path):
    answers = with_outcomes(tmp_path, generator="search", options=3).answers()
    estimates = [option.learned_execution_probability for option in answers[-1].options]
    assert len(estimates) > 1
    assert all(0.0 < estimate < 1.0 for estimate in estimates)


def test_a_learned_probability_follows_the_outcomes_and_the_assumed_one_does_not(tmp_path):
    of_the_poorer = [answer.options[0] for answer in with_outcomes(tmp_path).answers()[::2]]
    assert len({option.execution_probability for option in of_the_poorer}) == 1
    last = of_the_poorer[-1]
    assert last.learned_execution_probability > 1.1 * last.execution_probability


def test_in_rounds_it_is_the_success_that_the_goal_and_the_promise_count_with(tmp_path):
    rounds = {"goal": "fixed", "goal_parameters": {"score": 0.8}, "generator": "search", "choice": "posterior"}
    calendar = {"places": 1, "round": "PT1H", "horizon": 9}
    timed = {"time": "P2D", "lateness": "PT1M"}
    story = tape(tmp_path, policy=rounds, capacity=calendar, window=timed)
    poor = {"region": "north", "income": 40.0, "debts": 4}
    story.applies("x", features=poor)
    for minutes in range(120, 160):
        story.tick(minutes * MINUTE_MS)
    ledger = story.fold()
    [answer] = story.answers()
    program = story.run.programs["loan"]
    targets = [{**poor, **{change.feature: change.target for change in option.changes}} for option in answer.options]
    people, changed = (program.codec.encode_many(rows) for rows in ([poor] * len(targets), targets))
    rounds = ProgramRounds()
    rounds.begin(program)
    expected = success_of(rounds, people, changed).tolist()
    assert [option.execution_probability for option in answer.options] == pytest.approx(expected)
    assert answer.options[0].execution_probability != pytest.approx(np.exp(-program.nu * answer.options[0].cost))
    assert answer.execution_source == "assumed"
    [(body,)] = rows(ledger, "SELECT body FROM promised_scores")
    assert msgspec.msgpack.decode(without_checksum(body), type=PromisedScore).success == pytest.approx(max(expected))


def counted(text: str, name: str) -> dict[str, float]:
    families = {family.name: family for family in text_string_to_metric_families(text)}
    return {sample.labels["decile"]: sample.value for sample in families[f"onward_{name}"].samples}


def test_rewards_are_counted_by_the_probability_that_was_predicted(tmp_path):
    story = tape(tmp_path, **TIMED)
    for name, result in {"a": "improved", "b": "not_improved", "c": "unseen", "d": None}.items():
        story.applies(name)
        if result:
            story.outcome(name, MINUTE_MS, result=result)
    story.tick(120 * MINUTE_MS)
    text = expose(story.run).owned
    predicted = {answer.application: answer.options[0].execution_probability for answer in story.answers()}
    decile = {name: f"{int(10 * p) / 10:.1f}-{(int(10 * p) + 1) / 10:.1f}" for name, p in predicted.items()}
    resolved = ("a", "b", "d")
    assert counted(text, "resolved_options") == Counter(decile[name] for name in resolved)
    assert sum(counted(text, "observed_rewards").values()) == 1.0
    total = sum(predicted[name] for name in resolved)
    assert sum(counted(text, "predicted_executions").values()) == pytest.approx(total)


def test_of_several_options_the_credited_one_counts_and_without_an_outcome_the_easiest(tmp_path):
    policy = {"generator": "search", "choice": "protoar", "options": 3}
    story = tape(tmp_path, policy=policy, **TIMED)
    for name in ("named", "silent"):
        story.applies(name, features={"region": "north", "income": 60.0, "debts": 4})
    story.outcome("named", MINUTE_MS, option="2")
    story.tick(120 * MINUTE_MS)
    text = expose(story.run).owned
    assert f'outcome_delay_seconds_sum{{program="loan"}} {MINUTE_MS / 1000}' in text
    options = {answer.application: len(answer.options) for answer in story.answers()}
    assert options["named"] > 1
    assert sum(counted(text, "resolved_options").values()) == 2
    assert sum(counted(text, "observed_rewards").values()) == 1.0


@settings(max_examples=50)
@given(st.floats(0, 1))
def test_a_certain_option_belongs_to_the_highest_decile(probability):
    decile = decile_of(probability)
    low, high = map(float, decile.split("-"))
    assert low - 1e-9 <= probability <= high
    assert probability < high or probability == 1.0
    assert decile == DECILES[tenth_of(np.array([probability])).item()]

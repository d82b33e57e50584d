"""A recourse says where its execution probabilities come from, and what they predicted is held against the rewards."""

from __future__ import annotations

from collections import Counter

import pytest
from prometheus_client.parser import text_string_to_metric_families

from onward.streams.engine.portion import Effects
from onward.streams.metrics import Metrics
from onward.streams.worker.processor_metrics import ProcessorMetrics
from onward.tests.support.exposition import expose
from onward.tests.support.pipeline import no_clock
from onward.tests.support.tape import MINUTE_MS, TIMED, tape

TOLD = {"nu": 0.5}


@pytest.mark.parametrize(
    ("choice", "policy", "source"),
    [("linucb", {}, "assumed"), ("linucb", TOLD, "told"), ("residual", {}, "learned"), ("residual", TOLD, "learned")],
)
def test_a_recourse_names_the_source(tmp_path, choice, policy, source):
    story = tape(tmp_path, choice=choice, policy=policy)
    story.applies("x")
    story.fold()
    [answer] = story.answers()
    assert answer.execution_source == source
    assert (answer.options[0].learned_execution_probability is None) == (source != "learned")


def test_every_option_of_a_learner_has_its_own_estimate(tmp_path):
    story = tape(tmp_path, policy={"generator": "search", "choice": "residual", "options": 3})
    story.applies("x", features={"region": "north", "income": 60.0, "debts": 4})
    story.fold()
    estimates = [option.learned_execution_probability for option in story.answers()[0].options]
    assert len(estimates) > 1
    assert all(0.0 < estimate < 1.0 for estimate in estimates)


def test_a_learned_probability_follows_the_outcomes_and_the_assumed_one_does_not(tmp_path):
    def shown(folder, result):
        story = tape(tmp_path / folder, choice="residual", candidates=2, **TIMED)
        for number in range(30):
            story.applies(f"p{number}", number * MINUTE_MS)
            story.outcome(f"p{number}", number * MINUTE_MS + 1, result=result)
        story.fold()
        option = story.answers()[-1].options[0]
        return option.learned_execution_probability, option.execution_probability

    (improved, assumed), (failed, same) = shown("good", "improved"), shown("bad", "not_improved")
    assert improved > 1.2 * failed
    assert assumed == same


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
    options = {answer.application: len(answer.options) for answer in story.answers()}
    assert options["named"] > 1
    assert sum(counted(text, "resolved_options").values()) == 2
    assert sum(counted(text, "observed_rewards").values()) == 1.0


def test_a_certain_option_belongs_to_the_highest_decile():
    metrics = Metrics()
    effects = Effects(predictions=[("loan", 1.0, 1.0), ("loan", 0.0, 0.0)])
    ProcessorMetrics(metrics, {}, no_clock).count(effects, Counter())
    assert counted(metrics.expose().decode(), "resolved_options") == {"0.9-1.0": 1.0, "0.0-0.1": 1.0}

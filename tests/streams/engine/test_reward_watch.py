"""Is it true? What is predicted is held against what comes of it, and an operator reads which feature is to blame."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
from prometheus_client.parser import text_string_to_metric_families

from onward.schemas.events import Application, Outcome, Recourse, Value
from onward.schemas.headers import parse_time
from onward.streams.engine.rewards.summary import RewardsSummary
from onward.streams.engine.rewards.watch import KEPT, RewardWatch
from onward.streams.ledger.summary import summaries
from onward.streams.programs.assembly import assemble
from onward.streams.programs.program import Program
from onward.streams.programs.spec_check import load_program_spec
from onward.streams.programs.training.train import train
from onward.testing.ledger import rows
from onward.testing.pipeline import START_MS, PipelineRun
from onward.testing.tape import MINUTE_MS, Tape
from onward.tests.support.exposition import expose
from onward.tests.support.loans import write_loans

SPEC = """\
program: loan
features:
  - {name: income, type: integer, bounds: [0, 200], max_change: 25, mutable: up}
  - {name: debts, type: integer, bounds: [0, 20], max_change: 3, mutable: down}
  - {name: region, type: categorical, categories: [north, south], mutable: none}
label: {name: repaid, desired: 1}
model: {manifest: model/manifest.json}
policy: {options: 1, window: {time: PT30M, lateness: PT5M}}
"""
PEOPLE = 400
WINDOW_MS = 30 * MINUTE_MS


@pytest.fixture(scope="module")
def program(tmp_path_factory) -> Program:
    folder = tmp_path_factory.mktemp("trained")
    write_loans(folder / "loans.csv")
    (folder / "loan.yaml").write_text(SPEC)
    spec = load_program_spec(folder / "loan.yaml")
    train(folder / "loans.csv", spec, folder / "model", estimator="logistic_regression", seed=0)
    return assemble(spec)


def played(program: Program, folder: Path, useless_from: int) -> Tape:
    """One person a minute applies. Who carries out an option tells what it did, and nothing is heard of the others.

    From the person of a number on a higher income does nothing.
    """
    folder.mkdir()
    random, story = np.random.default_rng(0), Tape(PipelineRun({"loan": program}, folder))
    people: list[dict[str, Value]] = []
    for _ in range(PEOPLE):
        debts = int(random.integers(0, 12))
        income = max(0, 8 * debts + int(random.integers(-15, 15)))
        people.append({"region": "north", "income": income, "debts": debts})
    applications = [Application("loan", str(number), person) for number, person in enumerate(people)]
    sent(story, "applications", dict(enumerate(applications)))
    story.fold("before any outcome")
    told = {}
    for answer in recourses(story):
        number, [option] = int(answer.application), answer.options
        useless = {"income"} if number >= useless_from else set[str]()
        real = {change.feature: change.target for change in option.changes if change.feature not in useless}
        rows = [program.codec.encode_many([{**people[number], **changes}]) for changes in (real, {})]
        if random.random() < option.execution_probability:
            improved = random.random() < program.bundle.improvement(*rows).item()
            result = "improved" if improved else "not_improved"
            told[number + 20] = Outcome("loan", answer.application, result, "1")
    sent(story, "outcomes", told)
    story.tick(PEOPLE * MINUTE_MS + 2 * WINDOW_MS)
    return story


class Watched(NamedTuple):
    """A story, the metrics that it leads to, and what its ledger tells."""

    story: Tape
    metrics: dict[str, dict[str, float]]
    rewards: RewardsSummary


@pytest.fixture(scope="module")
def watched(program: Program, tmp_path_factory: pytest.TempPathFactory) -> Callable[[int], Watched]:
    """The story in which a higher income does nothing from the person of a number on, each told once."""
    folder = tmp_path_factory.mktemp("stories")

    @cache
    def watch(useless_from: int) -> Watched:
        story = played(program, folder / str(useless_from), useless_from)
        return Watched(story, shown(story), told(story))

    return watch


def sent(story: Tape, topic: str, events: Mapping[int, Any]) -> None:
    """Ingest events, each at its minute."""
    record = story.sender.record
    records = [
        record(topic, event, time_ms=START_MS + minute * MINUTE_MS, id=f"{topic} {minute}")
        for minute, event in events.items()
    ]
    asyncio.run(story.run.ingest(records))


def recourses(story: Tape) -> list[Recourse]:
    return [answer for answer in story.answers() if isinstance(answer, Recourse)]


def shown(story: Tape) -> dict[str, dict[str, float]]:
    """The values of each metric of a program, by its other label; gauges are gone with the partition."""
    found: dict[str, dict[str, float]] = {}
    exposition = expose(story.run)
    assert not re.findall(r"^onward_(?:recent|feature)_\w+{", exposition.revoked, re.MULTILINE)
    for family in text_string_to_metric_families(exposition.owned):
        for sample in family.samples:
            label = "".join(value for name, value in sample.labels.items() if name != "program")
            found.setdefault(sample.name.removeprefix("onward_"), {})[label] = sample.value
    return found


def told(story: Tape) -> RewardsSummary:
    """What the ledger tells."""
    [summary] = summaries(story.fold().parent)
    rewards = summary.programs[0].rewards
    assert rewards is not None
    return rewards


def test_the_table_by_tenths_is_that_of_the_published_events(watched):
    """All were told their options before any outcome: what was expected is what the labels say, and the effort."""
    story, metrics, rewards = watched(0)
    answers = {answer.application: answer for answer in recourses(story)}
    from_ms, expected, early = None, np.zeros((3, 10)), 0
    for fate, record in zip(story.rewards(), story.run.broker.logs["rewards", 0], strict=True):
        answer = answers[fate.application]
        deadline_ms = parse_time(answer.closes_at.encode())
        from_ms = from_ms or deadline_ms
        if (deadline_ms if fate.fate == "censored" else record.timestamp_ms) >= from_ms:
            predicted = answer.options[0].improvement_probability * answer.options[0].execution_probability
            expected[:, int(10 * predicted)] += 1, predicted, fate.reward
        else:
            early += 1
    assert PEOPLE / 2 < expected[0].sum() == len(answers) - early
    assert 0 < early == rewards.early
    names = "recent_outcomes", "recent_predicted_rewards", "recent_observed_rewards"
    assert np.array([list(metrics[name].values()) for name in names]) == pytest.approx(expected)
    assert pytest.approx(expected) == np.array(rewards.tenths).T
    error = sum(abs(one - other) for _, one, other in expected.T) / expected[0].sum()
    assert rewards.calibration_error == pytest.approx(error)
    assert error > 0.1


def test_an_operator_reads_which_feature_does_not_help(watched):
    (_, metrics, useless), (_, _, good) = watched(0), watched(PEOPLE)
    assert [feature.feature for feature in useless.features if feature.helps_less] == ["income"]
    assert [feature.feature for feature in good.features if feature.helps_less] == []
    by_feature = ("feature_omega", "feature_omega_sd", "feature_difficulty")
    assert {feature.feature: feature[1:4] for feature in useless.features} == {
        name: tuple(metrics[metric][name] for metric in by_feature) for name in ("income", "debts")
    }


def test_rewards_that_change_are_a_drift_and_those_that_stay_are_none(watched):
    """Rewards that were never as expected are no drift."""
    found = {}
    for name, useless_from in (("good", PEOPLE), ("useless", 0), ("change", PEOPLE // 2)):
        _, metrics, rewards = watched(useless_from)
        found[name] = rewards.drifts
        assert metrics["drift_detected_total"] == {"rewards": found[name]}
    assert (found["good"], found["useless"]) == (0, 0)
    assert found["change"] > 0


def test_a_ledger_that_is_folded_in_parts_or_again_watches_the_same(watched):
    story = watched(PEOPLE // 2).story
    journal = story.journal
    parts = [journal[start : start + 97] for start in range(0, len(journal), 97)]
    folded = [story.fold(), story.fold("again"), story.fold("in parts", parts)]
    whole, *others = (rows(ledger, "SELECT body FROM reward_watch") for ledger in folded)
    assert len(whole[0][0]) > 1000
    assert others == [whole, whole]


def test_what_is_kept_is_bounded_and_calm_rewards_raise_no_alarm():
    """10,000 outcomes as they were expected; then half of those who improved do so no more."""
    random, watch = np.random.default_rng(0), RewardWatch()
    for number, expected in enumerate(random.beta(3, 2, 10_000).tolist()):
        assert not watch.add(expected, float(random.random() < expected), number)
    assert len(watch.rewards) == len(watch.expected) == KEPT
    found = [number for number in range(300) if watch.add(0.6, float(random.random() < 0.3), 7)]
    assert found[0] < 200
    assert (watch.drifts, watch.drift_ms) == (len(found), 7)
    assert len(watch.rewards) < KEPT

"""Features with ``audit: true``: whom options serve is shown by group, and the groups decide nothing."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec
import pytest
from prometheus_client.parser import text_string_to_metric_families

from onward.schemas.events import NoRecourse, Recourse
from onward.testing.program import FEATURES
from onward.testing.tape import MINUTE_MS, POOR, TIMED, Tape, tape
from onward.tests.support.changed_specs import announce, feature
from onward.tests.support.exposition import expose

AUDITED = [{**one, "mutable": "none", "audit": True} if one["name"] == "region" else dict(one) for one in FEATURES]
FILLED = [{**one, "missing": "north"} if one["name"] == "region" else one for one in AUDITED]
NAMES = ("people", "recourses", "cost", "satisfied")
PROGRAMS: Mapping[str, Mapping[str, Any]] = {
    "sampled": {"choice": "emc", "policy": {"generator": "search", "cost": "mixed", "options": 3, "samples": 60}},
    "known": {"choice": "residual", "policy": {"generator": "search", "options": 2}},
}


def story(folder: Path, name: str, regions: tuple[str | None, ...], features: list[dict[str, Any]] = AUDITED) -> Tape:
    """People of these regions in turn apply, of whom one cannot be served; each says what they would take."""
    bounds = [{**one, "max_change": 30} if one["name"] == "income" else one for one in features]
    tale = tape(folder, **PROGRAMS[name], features=bounds, **TIMED)
    for number in range(12):
        person = {"region": regions[number % len(regions)], "income": 5.0 + 7 * number, "debts": number % 5}
        tale.applies(f"p{number}", number, person)
        if name == "sampled" and number:
            tale.says(f"p{number - 1}", MINUTE_MS + number, "1")
    return tale


@pytest.mark.parametrize("name", PROGRAMS)
@pytest.mark.parametrize(
    ("features", "regions"),
    [(AUDITED, ("north", "south", "south")), (FILLED, ("north", None, "Unknown")), (FILLED, ("north", "south", None))],
)
def test_people_options_costs_and_who_is_satisfied_are_counted_by_group(tmp_path, name, features, regions):
    tale = story(tmp_path, name, regions, features)
    text = expose(tale.run).owned
    found = {
        (sample.name.removeprefix("onward_audited_").removesuffix("_total"), sample.labels["group"]): sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
        if sample.name.startswith("onward_audited_") and sample.name.endswith("_total")
    }
    expected: defaultdict[tuple[str, str], float] = defaultdict(float)
    for answer in tale.answers():
        region = regions[int(answer.application[1:]) % 3]
        group = region if region in ("north", "south") else "not given"
        expected["people", group] += 1
        if isinstance(answer, Recourse):
            expected["recourses", group] += 1
            expected["cost", group] += min(option.cost for option in answer.options)
            expected["satisfied", group] += answer.satisfied if name == "sampled" else 0.0
    assert any(isinstance(answer, NoRecourse) for answer in tale.answers())
    groups = {"north", "south"} | ({"not given"} if features is FILLED else set())
    assert found == pytest.approx({(name, group): expected[name, group] for name in NAMES for group in groups})


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_group_that_the_model_does_not_read_decides_no_option(tmp_path, name):
    def told(folder: str, regions: tuple[str, ...]) -> list[bytes]:
        tale = story(tmp_path / folder, name, regions)
        tale.fold()
        return [msgspec.json.encode(answer) for answer in tale.answers()]

    one = told("one", ("north", "south", "south"))
    assert any(b'"options"' in answer for answer in one)
    assert told("other", ("south", "north")) == one


def test_features_are_watched_from_the_spec_on_that_says_so(tmp_path):
    """Each feature by its own groups, and none that the spec does not name."""
    by_grade = {"name": "grade", "type": "ordinal", "levels": ["a", "b"], "mutable": "none", "missing": "a"}
    features = [{**one, "audit": False} for one in AUDITED] + [by_grade]
    tale = tape(tmp_path, **PROGRAMS["known"], features=features, **TIMED)
    tale.applies("before", 0)
    for name in ("region", "grade"):
        announce(tale, feature(name, audit=True), MINUTE_MS)
    tale.applies("after", 2 * MINUTE_MS, {**POOR, "grade": "b"})
    people = {
        tuple(sample.labels[name] for name in ("program", "feature", "group")): sample.value
        for family in text_string_to_metric_families(expose(tale.run).owned)
        for sample in family.samples
        if sample.name == "onward_audited_people_total"
    }
    assert people == {("loan", "region", "north"): 1.0, ("loan", "grade", "b"): 1.0}

"""In rounds, somebody who knows the name of another person's application gets nothing of theirs."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from onward.testing.tape import MINUTE_MS
from onward.tests.streams.engine.rounds.stories import HOUR_MS, Story, story
from onward.tests.streams.engine.rounds.test_rounds import closed_at

pytestmark = pytest.mark.attack

Newcomer = tuple[str, str | None, str | None, float]


def returns(folder: Path, newcomers: list[Newcomer]) -> Story:
    """Ada is promised a score, others apply, and she returns in the second round with the score. It has two places."""
    tape = story(folder, horizon=3)
    for name, income, applicant in (("a", 20, "ada"), ("bare", 21, None), ("best", 45, None), ("good", 40, None)):
        tape.applies_with(name, 10 * MINUTE_MS, income, applicant)
    tape.tick(closed_at(1))
    for number, (name, applicant, previous, income) in enumerate(newcomers):
        tape.applies_with(name, HOUR_MS + 10 * MINUTE_MS + number, income, applicant, previous)
    tape.applies_with("again", HOUR_MS + 20 * MINUTE_MS, 90, "ada", "a")
    tape.tick(closed_at(2))
    tape.tick(closed_at(6))
    tape.fold()
    return tape


@pytest.mark.parametrize("applicant", [None, "eve"])
def test_a_stranger_does_not_use_up_the_promise_to_another(tmp_path, applicant):
    tape = returns(tmp_path, [("stranger", applicant, "a", 99.0)])
    assert tape.promises()["a"] == "kept"
    assert [closed.returned for closed in tape.thresholds()][1] == 1
    assert tape.metrics.registry.get_sample_value("onward_ignored_previous_total", {"program": "loan"}) == 1.0


def test_nobody_is_known_by_the_name_of_an_application_without_an_applicant(tmp_path):
    tape = returns(tmp_path, [("stranger", None, "bare", 99.0)])
    assert tape.promises()["bare"] == "expired"


NEWCOMERS = st.lists(
    st.tuples(
        st.sampled_from(["a", "bare", "new-1", "new-2"]),
        st.sampled_from([None, "eve", "a"]),
        st.sampled_from([None, "a", "bare", "again", "new-1"]),
        st.sampled_from([10.0, 50.0, 99.0]),
    ),
    min_size=1,
    max_size=3,
)


@settings(max_examples=15, deadline=None)
@given(newcomers=NEWCOMERS)
def test_naming_the_application_of_another_changes_no_byte_of_anything(newcomers):
    """In a round others compete for the places, so a stranger with a name is compared with the same one without."""
    with TemporaryDirectory() as folder:
        named = returns(Path(folder) / "named", newcomers)
        plain = returns(Path(folder) / "plain", [(name, who, None, income) for name, who, _, income in newcomers])
        # A dead letter holds the record as it was sent.
        assert {**named.run.outputs(), "dead-letters": []} == {**plain.run.outputs(), "dead-letters": []}

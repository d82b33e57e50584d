"""The laws of delivery, for random stories of a program that asks."""

from __future__ import annotations

from collections import Counter
from itertools import pairwise

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from onward.schemas.events import ModelDecision
from onward.testing.ledger import dump
from onward.tests.streams.engine.questions.stories import HOUR_MS, LATER, POOR, RICH, Story, asking, story

NAMES = "abcd"
EVENTS = st.lists(
    st.one_of(
        st.tuples(
            st.just("applies"), st.sampled_from(NAMES), st.sampled_from([POOR, POOR, {**POOR, "debts": 8}, RICH])
        ),
        *[
            st.tuples(
                st.just("replies"),
                st.sampled_from(NAMES),
                st.tuples(st.integers(1, 4), st.sampled_from(["1", "1", "2", "3", None])),
            )
        ]
        * 3,
        st.tuples(st.just("model"), st.sampled_from(list(LATER)), st.none()),
        st.tuples(st.just("outcome"), st.sampled_from(NAMES), st.none()),
        st.tuples(st.just("passes"), st.integers(1, 6), st.none()),
    ),
    max_size=25,
)


def told(tape: Story, events: list) -> Story:
    """A story of these events, a quarter of an hour apart, up to the deadline of all."""
    now_ms, applied = 0, set[str]()
    for number, (kind, subject, more) in enumerate(events):
        now_ms += HOUR_MS // 4
        if kind == "applies" and subject not in applied:
            applied.add(subject)
            tape.applies(subject, now_ms, more)
        elif kind == "replies":
            question, option = more
            tape.replies(subject, question, now_ms, option, id=f"r{number}")
        elif kind == "model":
            tape.new_model(subject, now_ms)
        elif kind == "outcome":
            tape.outcome(subject, now_ms, id=f"o{number}", option="1")
        elif kind == "passes":
            now_ms += subject * HOUR_MS
            tape.tick(now_ms)
    tape.tick(now_ms + 24 * HOUR_MS)
    return tape


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(events=EVENTS, cut=st.integers(1, 5), window=st.sampled_from([{"time": "P60D"}, {"steps": 2}]))
def test_each_rejected_person_is_answered_once_wherever_the_journal_is_cut(tmp_path_factory, events, cut, window):
    program = asking(window={**window, "lateness": "PT5M"})
    with pytest.MonkeyPatch.context() as patch:
        whole, parts = (told(story(tmp_path_factory.mktemp("law"), patch, program), events) for _ in range(2))
        expected = dump(whole.fold())
        ends = [*range(0, len(parts.journal), cut), len(parts.journal)]
        found = dump(parts.fold(parts=[parts.journal[start:end] for start, end in pairwise(ends)]))
    assert parts.run.outputs() == whole.run.outputs()
    assert found == expected
    rejected = [one.application for one in whole.run.events("model-decisions", ModelDecision) if not one.approved]
    assert Counter(answer.application for answer in whole.answers()) == Counter(rejected)
    assert [answer.step for answer in whole.answers()] == list(range(len(rejected)))
    numbers = Counter(name for name, _ in whole.asked())
    assert Counter(whole.asked()) == Counter((name, n + 1) for name, last in numbers.items() for n in range(last))

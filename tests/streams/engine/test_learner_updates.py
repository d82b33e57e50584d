"""What answers and outcomes change in a learner."""

from __future__ import annotations

import msgspec
import numpy as np
import pytest

from onward.schemas.events import NoRecourse, Recourse
from onward.streams.ledger.checksum import without_checksum
from onward.testing.ledger import rows
from onward.testing.program import build_program
from onward.testing.tape import MINUTE_MS, POOR, TIMED, tape


def learner(ledger):
    [(step, packed)] = rows(ledger, "SELECT step, learner FROM shards")
    state = msgspec.msgpack.decode(without_checksum(packed), type=dict[str, tuple[str, tuple[int, ...], bytes]])
    return step, {name: np.frombuffer(content, dtype).reshape(shape) for name, (dtype, shape, content) in state.items()}


@pytest.mark.parametrize(("result", "reward"), [("improved", 1.0), ("not_improved", 0.0), ("unseen", None)])
def test_an_outcome_teaches_the_learner_its_reward(tmp_path, result, reward):
    story = tape(tmp_path, **TIMED)
    story.applies("x")
    story.outcome("x", MINUTE_MS, result=result)
    step, state = learner(story.fold())
    [answer] = story.answers()
    [option] = answer.options
    e, k = option.execution_probability, int(option.candidate)
    fresh = build_program().learner().state()
    v, b = fresh["v"].copy(), fresh["b"].copy()
    if reward is not None:
        v[k] += e * e
        b[k] += e * reward
    assert step == 1
    np.testing.assert_allclose(state["v"], v, rtol=1e-12)
    np.testing.assert_array_equal(state["b"], b)


def test_an_answer_without_recourse_takes_a_step(tmp_path):
    story = tape(tmp_path, candidates=1)
    story.applies("stuck")
    story.applies("south", features={**POOR, "region": "south"})
    step, _ = learner(story.fold())
    assert [(type(answer), answer.step) for answer in story.answers()] == [(NoRecourse, 0), (Recourse, 1)]
    assert step == 2

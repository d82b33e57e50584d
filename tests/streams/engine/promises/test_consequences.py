"""A promise is settled by what the person does: what follows may be other than told."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

from onward.schemas.events import Application, PromiseChange
from onward.streams.programs.models.scoring import LogisticScore
from onward.tests.streams.engine.promises.stories import HOUR_MS, PROMISE
from onward.tests.streams.engine.test_consequences import FOLLOWS, PERSON, answer
from onward.tests.support.tape import Tape, tape

MODEL = SimpleNamespace(score=LogisticScore(np.array([0.0, 0.0, 4.0, -2.0, 4.0, -4.0]), -1.5))


def applies(told: Tape, name: str, hours: int, previous: str | None = None, **features: float) -> None:
    event = Application("loan", name, {**PERSON, **features}, applicant="p", previous=previous)
    told.send("applications", event, hours * HOUR_MS, f"a-{name}")


@pytest.mark.parametrize(("short", "followed", "ended"), [(0, 1, "kept"), (0, 0, "broken"), (1, 0, "superseded")])
def test_who_did_what_was_asked_did_it_whatever_followed(tmp_path, short, followed, ended):
    policy = {"generator": "search", "options": 3, "choice": "posterior", "objective": "cost"}
    window = {"time": "P60D", "lateness": "PT5M"}
    told = tape(tmp_path, window=window, policy=policy, choice="posterior", model=MODEL, promise=PROMISE, **FOLLOWS)
    applies(told, "a", 0)
    told.fold("first")
    raises = next(one for one in answer(told, "a") if [change.feature for change in one.changes] == ["income"])
    [income], (reserve, ratio) = raises.changes, raises.follows
    what_follows = {each.feature: each.target for each in (reserve, ratio)} if followed else {}
    applies(told, "b", 4, previous="a", income=income.target - short, **what_follows)
    told.fold("second")
    ends = told.run.events("promises", PromiseChange)
    assert {end.status for end in ends if raises.id in end.options} == {ended}

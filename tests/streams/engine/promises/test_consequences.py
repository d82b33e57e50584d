"""A promise is settled by what the person does: what follows may be other than told."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import msgspec
import numpy as np
import pytest
from numpy.typing import NDArray

from onward.agents.promises.ball import SAFETY_FACTOR
from onward.schemas.events import Application, Model, Option, PromiseChange, Recourse, Revalidation
from onward.streams.engine.promises.promised_options import OpenOption, PromisedOptions, people_of
from onward.streams.journal.entries import CaseKey
from onward.streams.programs.bundle.loader import ModelBundle
from onward.streams.programs.models.scoring import LogisticScore
from onward.streams.programs.program import Program
from onward.testing.pipeline import PipelineRun
from onward.testing.program import build_program
from onward.testing.tape import Tape
from onward.tests.streams.engine.promises.stories import HOUR_MS, PROMISE
from onward.tests.streams.engine.test_consequences import EFFECT, FOLLOWS, PERSON, answer

Array = NDArray[np.float64]

MODEL = SimpleNamespace(score=LogisticScore(np.array([0.0, 0.0, 4.0, -2.0, 4.0, -4.0]), -1.5))


def applies(told: Tape, name: str, hours: int, previous: str | None = None, **features: float) -> None:
    event = Application("loan", name, {**PERSON, **features}, applicant="p", previous=previous)
    told.send("applications", event, hours * HOUR_MS, f"a-{name}")


@pytest.mark.parametrize(("short", "followed", "ended"), [(0, 1, "kept"), (0, 0, "broken"), (1, 0, "superseded")])
def test_who_did_what_was_asked_did_it_whatever_followed(tmp_path, short, followed, ended):
    told = Tape(PipelineRun({"loan": promising()}, tmp_path))
    applies(told, "a", 0)
    told.fold("first")
    raises = next(one for one in answer(told, "a") if [change.feature for change in one.changes] == ["income"])
    [income], (reserve, ratio) = raises.changes, raises.follows
    what_follows = {each.feature: each.target for each in (reserve, ratio)} if followed else {}
    applies(told, "b", 4, previous="a", income=income.target - short, **what_follows)
    told.fold("second")
    ends = told.run.events("promises", PromiseChange)
    assert {end.status for end in ends if raises.id in end.options} == {ended}


def short_states(program: Program, people: Array, targets: Array) -> Array:
    """The states (n, D) of people who do what was told, where less follows by a deviation."""
    effects = [{**EFFECT, "slope": EFFECT["slope"] - EFFECT["deviation"]}]
    truth = build_program(**{**FOLLOWS, "effects": effects}).consequences
    assert truth is not None
    return truth.states_after(program.stated_targets(people, targets), people)


def promising(options: int = 3, **others: Any) -> Program:
    policy = {"generator": "search", "options": options, "choice": "posterior", "objective": "cost"}
    window = {"time": "P60D", "lateness": "PT5M"}
    others = {"promise": PROMISE, "model": MODEL, **FOLLOWS, **others}
    return build_program(window=window, policy=policy, choice="posterior", **others)


class NewModel:
    """A person who was promised options, and a new model that comes two hours later.

    It accepts whoever raises their income as told if all follows, and rejects them where less does by a deviation.
    """

    def __init__(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, **others: Any) -> None:
        self.program = program = promising(**others)
        self.tape = Tape(PipelineRun({"loan": program}, tmp_path))
        applies(self.tape, "a", 0)
        self.tape.fold("first")
        self.raises = self.option_of("income")
        self.person = program.codec.encode_many([PERSON])
        full = np.array([self.target_of(self.raises)])
        [short] = short_states(program, self.person, full)
        self.score = _between(short, full[0])
        self.scores = {program.bundle.manifest_sha256: MODEL.score, "2" * 64: self.score}
        monkeypatch.setattr(Program, "load", lambda _, manifest, sha256: self._bundle(sha256))

    def _bundle(self, sha256: str) -> ModelBundle:
        model = SimpleNamespace(score=self.scores[sha256])
        return replace(self.program.bundle, version=sha256[:1], manifest_sha256=sha256, model=model)

    def target_of(self, option: Option) -> Array:
        """The encoded state (D,) of the person after an option."""
        return self.program.codec.encode_many([{**PERSON, **option.after}])[0]

    def option_of(self, feature: str) -> Option:
        """The newest option that changes a feature alone."""
        found = [one for each in self.tape.answers() for one in cast(Recourse, each).options]
        return [one for one in found if [change.feature for change in one.changes] == [feature]][-1]

    def comes(self, version: int = 2) -> None:
        """Announce the model, or a later one an hour later, and let everything that is open be asked."""
        model = Model("loan", f"{version}", "memory", f"{version}" * 64)
        self.tape.send("models", model, version * HOUR_MS, f"m-{version}")
        for number in range(80):
            self.tape.tick(version * HOUR_MS + number)
        self.tape.fold(f"model {version}")

    def ends(self) -> list[tuple[str, ...]]:
        """The status and reason of each end of the option that raises the income."""
        told = self.published(PromiseChange)
        return [(end.status, end.reason) for end in told if self.raises.id in (end.options or ())]

    def published(self, kind: Any) -> list[Any]:
        """What was published of a kind, about promises."""
        return [one for one in self.tape.run.events("promises", PromiseChange | Revalidation) if type(one) is kind]


def _between(short: Array, full: Array, before: LogisticScore = MODEL.score) -> LogisticScore:
    """About the nearest model to the one ``before`` that rejects ``short`` (D,), and accepts ``full``."""
    point = np.append(short, 1.0)
    parameters = np.append(before.weights, before.bias)
    moved = parameters - 1.02 * (parameters @ point) / (point @ point) * point
    score = LogisticScore(moved[:-1], moved[-1])
    assert score(short[np.newaxis]).item() < 0.5 < score(full[np.newaxis]).item()
    return score


@pytest.mark.parametrize("options", [3, 1])
def test_an_option_that_a_new_model_accepts_only_if_all_follows_is_replaced_by_one_that_holds(
    tmp_path, monkeypatch, options
):
    new = NewModel(tmp_path, monkeypatch, options=options)
    # Of the state as told it would be certain that the model accepts it.
    told, promise = new.target_of(new.raises)[np.newaxis], new.program.promise
    assert promise.certified_distance(told, MODEL.score, 0.5) > promise.distance(MODEL.score, new.score)
    new.comes()
    assert new.ends() == [("broken", "model")]
    revised = new.option_of("income")
    assert revised != new.raises
    [income], (reserve, ratio) = revised.changes, revised.follows
    assert income.target > new.raises.changes[0].target
    assert reserve.target == pytest.approx(15.0 + 0.5 * (income.target - 21.0))
    assert ratio.target == pytest.approx(0.19 + 4 / income.target - 4 / 21.0)
    target = new.target_of(revised)[np.newaxis]
    short = short_states(new.program, new.person, target)
    assert (new.score(np.concatenate([target, short])) >= 0.5).all()


@pytest.mark.parametrize("is_replaced", [True, False])
def test_an_option_that_a_model_has_accepted_or_made_is_asked_again_where_a_later_one_rejects_who_gets_less(
    tmp_path, monkeypatch, is_replaced
):
    new = NewModel(tmp_path, monkeypatch, options=1)
    if not is_replaced:
        new.scores["2" * 64] = LogisticScore(MODEL.score.weights, MODEL.score.bias + 1.0)
    new.comes()
    assert len(new.ends()) == is_replaced
    full = new.target_of(new.option_of("income"))[np.newaxis]
    [short] = short_states(new.program, new.person, full)
    second = new.scores["2" * 64]
    third = new.scores["3" * 64] = _between(short, full[0], second)
    promise = new.program.promise
    # Of the state as told it would be certain that this one accepts it too.
    assert SAFETY_FACTOR * promise.certified_distance(full, second, 0.5) > promise.distance(second, third)
    new.comes(3)
    assert len(new.ends()) == is_replaced + 1


def test_the_people_of_promises_stand_once_for_each_of_their_options(tmp_path, monkeypatch):
    new = NewModel(tmp_path, monkeypatch)
    rich = {**PERSON, "income": 22.0, "ratio": 0.18}
    one, other = (
        PromisedOptions(
            CaseKey("loan", name), name, 0, 0, 0, msgspec.json.encode(row), (OpenOption("1", 0, b"", ""),) * n, 0.0
        )
        for name, row, n in (("a", PERSON, 1), ("b", rich, 3))
    )
    people = new.program.codec.encode_many([PERSON, rich])
    assert np.array_equal(people_of(new.program, [one, other]), people[[0, 1, 1, 1]])


@pytest.mark.parametrize("slope", [0.5, 0.3])
def test_who_did_what_an_honoured_option_told_keeps_it_also_where_less_follows(tmp_path, monkeypatch, slope):
    new = NewModel(tmp_path, monkeypatch, promise={**PROMISE, "grandfather": True}, options=1)
    new.comes()
    assert new.ends() == []
    income = new.raises.changes[0].target
    reserve, ratio = 15.0 + slope * (income - 21.0), 0.19 + 4 / income - 4 / 21.0
    applies(new.tape, "b", 4, previous="a", income=income, reserve=reserve, ratio=ratio)
    new.tape.fold("returned")
    assert new.ends() == [("kept", "approved")]


@pytest.mark.parametrize("scan", [True, False])
def test_who_did_what_a_broken_option_told_is_approved_where_all_followed(tmp_path, monkeypatch, scan):
    new = NewModel(tmp_path, monkeypatch)
    if scan:
        new.comes()
    else:
        new.tape.send("models", Model("loan", "2", "memory", "2" * 64), 2 * HOUR_MS, "m-2")
    followed = {change.feature: change.target for change in new.raises.follows}
    applies(new.tape, "b", 4, previous="a", income=new.raises.changes[0].target, **followed)
    new.tape.fold("returned")
    assert "b" not in [answer.application for answer in new.tape.answers()]

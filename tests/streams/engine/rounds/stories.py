"""Programs with limited places, and journals for them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
from msgspec import UNSET, UnsetType
from numpy.typing import NDArray

from onward.agents.goals.sac import goal_policy
from onward.agents.scores import Score
from onward.schemas.events import Application, ModelDecision, PromiseChange, Round, Threshold
from onward.streams.engine.rounds.state import ProgramRounds
from onward.streams.programs.program import Program
from onward.streams.records import Record
from onward.testing.pipeline import START_MS, PipelineRun
from onward.testing.program import build_program
from onward.testing.spaces import SigmoidScore
from onward.testing.tape import MINUTE_MS
from onward.tests.support.named_people import TapeOfPeople

Array = NDArray[np.float64]

HOUR_MS = 60 * MINUTE_MS
START = "2026-09-21T14:13:20Z"
"""START_MS as a time."""
HOURLY = {"places": 2, "round": "PT1H", "start": START}


LINE = SigmoidScore(np.array([0.0, 0.0, 12.0, -2.0]), -2.5)


def as_a_large_model(X: Array) -> Array:
    """The scores of ``LINE``, from a model that nobody knows to be linear: a person costs as much as under a forest."""
    return LINE(X)


def limited(
    capacity: dict[str, Any] | None = None,
    decisions: str = "model",
    score: Score = LINE,
    name: str = "loan",
    **policy: Any,
) -> Program:
    """A program with two places an hour, decided by a score of income and debts."""
    return build_program(
        name,
        decisions=decisions,
        capacity={**HOURLY, **(capacity or {})},
        window={"time": "PT10H", "lateness": "PT5M"},
        policy={"goal": "capacity", "generator": "search", "options": 2, "choice": "posterior", **policy},
        model=cast(Any, SimpleNamespace(score=score)),
        features=(
            {"name": "region", "type": "categorical", "categories": ["north", "south"], "mutable": "none"},
            {"name": "income", "type": "continuous", "bounds": [0, 100], "step": 1, "unit": "kEUR"},
            {"name": "debts", "type": "integer", "bounds": [0, 10], "mutable": "down"},
        ),
    )


def rounds_of(program: Program) -> ProgramRounds:
    """The rounds of a program of which none has been closed."""
    rounds = ProgramRounds()
    rounds.begin(program)
    return rounds


class Story(TapeOfPeople):
    """A journal for a program with rounds. ``sent`` are its input records."""

    def __post_init__(self) -> None:
        super().__post_init__()
        self.sent: list[Record] = []

    def send(self, topic: str, event: Any, ms: int, id: str) -> Record:
        """Ingest one event; return its input record."""
        record = super().send(topic, event, ms, id)
        self.sent.append(record)
        return record

    def applies_with(
        self,
        name: str,
        ms: int,
        income: float,
        applicant: str | UnsetType | None = UNSET,
        previous: str | None = None,
        debts: int = 2,
    ) -> None:
        """Ingest an application with this income: of a person of its own, or of the one of ``previous``."""
        features = {"region": "north", "income": income, "debts": debts}
        who = self.applicant(name, previous) if applicant is UNSET else applicant
        self.send("applications", Application("loan", name, features, who, previous), ms, f"a-{name}")

    def places(self) -> dict[str, bool]:
        """Who got a place."""
        return {
            decision.application: decision.approved for decision in self.run.events("model-decisions", ModelDecision)
        }

    def thresholds(self) -> list[Threshold]:
        """The closed rounds."""
        return self.run.events("thresholds", Threshold)

    def promises(self) -> dict[str, str]:
        """How promises ended."""
        ended = self.run.events("promises", PromiseChange)
        assert len({promise.application for promise in ended}) == len(ended)
        return {promise.application: promise.status for promise in ended}


def learned(policy: Mapping[str, NDArray[Any]], **capacity: Any) -> Program:
    """A program whose goal is a learned policy, given by its arrays."""
    program = limited(capacity, goal="sac")
    return replace(program, bundle=replace(program.bundle, goal_policy=goal_policy(policy)))


def story(tmp_path: Any, decisions: str = "model", score: Score = LINE, **capacity: Any) -> Story:
    """A journal for a program with two places an hour."""
    return Story(PipelineRun({"loan": limited(capacity, decisions, score)}, tmp_path))


def announcement(hours: float, places: int, program: str = "loan") -> Round:
    """A round that ends so many hours after the start."""
    return Round(program, datetime.fromtimestamp((START_MS + hours * HOUR_MS) / 1000, UTC), places)

"""A program that asks, and journals for it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from types import SimpleNamespace
from typing import Any, cast

import numpy as np

from onward.schemas.events import Model, Question
from onward.streams.programs.models.scoring import LogisticScore
from onward.streams.programs.program import Program
from onward.streams.records import Record
from onward.testing.pipeline import PipelineRun
from onward.testing.program import build_program
from onward.testing.tape import MINUTE_MS, Tape

FEATURES = (
    {"name": "region", "type": "categorical", "categories": ["north", "south"], "mutable": "none"},
    {"name": "income", "type": "continuous", "bounds": [0, 100], "step": 5, "unit": "kEUR", "mutable": "up"},
    {"name": "debts", "type": "integer", "bounds": [0, 10], "mutable": "down", "largest_step": 2},
    {"name": "savings", "type": "continuous", "bounds": [0, 50], "step": 5, "mutable": "up", "missing": 0},
    {"name": "years", "type": "integer", "bounds": [0, 20], "mutable": "up", "missing": 0},
)
WEIGHTS, BIAS = np.array([0.0, 0.0, 6.0, -6.0, 4.0, 5.0]), -3.0
LATER = {"v2": -3.0, "v3": -3.6, "v4": -1000.0}
"""The biases of later models: the first decides as before, the last accepts nobody."""
HOUR_MS = 60 * MINUTE_MS
LATENESS_MS = 5 * MINUTE_MS
POLICY: Mapping[str, Any] = {"generator": "plans", "cost": "mixed", "samples": 60, "options": 3}
ASKS: Mapping[str, Any] = {"tolerance": 0.0, "deadline": "PT10H", "response": "noiseless"}
POOR: Mapping[str, Any] = {"region": "north", "income": 30.0, "debts": 6, "savings": 10.0, "years": 4}
RICH: Mapping[str, Any] = {**POOR, "income": 100.0, "debts": 0, "savings": 40.0}


NOTHING: Mapping[str, Any] = {}


def asking(asks: Mapping[str, Any] | None = NOTHING, **program: Any) -> Program:
    """A program that asks at most three questions, and waits for answers for ten hours; with None it asks nobody."""
    own = {
        "window": {"time": "P60D", "lateness": "PT5M"},
        "policy": POLICY,
        "choice": "protoar",
        "elicitation": None if asks is None else {**ASKS, **asks},
        "model": scoring(BIAS),
        "features": FEATURES,
    }
    return build_program(**{**own, **program})


def scoring(bias: float) -> Any:
    """A model of all features."""
    return cast(Any, SimpleNamespace(score=LogisticScore(WEIGHTS, bias)))


class Story(Tape):
    """A journal for a program that asks."""

    def new_model(self, version: str, ms: int) -> None:
        """Announce one of the later models."""
        self.send("models", Model("loan", version, "memory", digest_of(version)), ms, f"m-{version}-{ms}")

    def replies(self, name: str, number: int, ms: int, option: str | None = "1", id: str | None = None) -> Record:
        """Ingest the answer to a question."""
        return self.says(name, ms, option, id=id, question=number)

    def asked(self) -> list[tuple[str, int]]:
        """Who was asked, and the numbers of their questions."""
        return [(question.application, question.number) for question in self.questions()]

    def questions(self) -> list[Question]:
        """The published questions."""
        return self.run.events("questions", Question)


def story(tmp_path: Any, monkeypatch: Any, program: Program | None = None) -> Story:
    """A journal for a program that asks, whose later models have the biases of ``LATER``."""
    own = asking() if program is None else program
    bundles = {
        digest_of(version): replace(
            own.bundle, version=version, manifest_sha256=digest_of(version), model=scoring(bias)
        )
        for version, bias in LATER.items()
    }
    bundles[own.bundle.manifest_sha256] = own.bundle
    monkeypatch.setattr(Program, "load", lambda self, manifest, sha256: bundles[sha256])
    return Story(PipelineRun({"loan": own}, tmp_path))


def digest_of(version: str) -> str:
    """A hash for a later model."""
    return version[1:] * 64

"""Programs whose options are promised, and journals for them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import msgspec
import numpy as np
from msgspec import UNSET, UnsetType

from onward.schemas.events import Application, Model, PromiseChange, Recourse, Revalidation
from onward.streams.engine.contract import WorkBudget
from onward.streams.engine.promises import revalidation
from onward.streams.engine.promises.promised_options import PromisedOptions
from onward.streams.engine.promises.state import PromiseState
from onward.streams.ledger.checksum import without_checksum
from onward.streams.programs.models.scoring import LogisticScore
from onward.streams.programs.program import Program
from onward.testing.ledger import rows
from onward.testing.pipeline import PipelineRun
from onward.testing.program import build_program
from onward.testing.tape import MINUTE_MS
from onward.tests.support.named_people import TapeOfPeople

WEIGHTS, BIAS = np.array([0.0, 0.0, 6.0, -6.0]), -1.0
STRICTER = {"v2": -1.05, "v3": -1.2, "v4": -1.8, "v5": -1.0}
"""The biases of later models: the last one is the first again."""
HOUR_MS = 60 * MINUTE_MS
PROMISE = {"kind": "lp", "radius": 0.1, "valid_for": "PT10H"}
FEATURES = (
    {"name": "region", "type": "categorical", "categories": ["north", "south"], "mutable": "none"},
    {"name": "income", "type": "continuous", "bounds": [0, 100], "step": 1, "unit": "kEUR"},
    {"name": "debts", "type": "integer", "bounds": [0, 10], "mutable": "down"},
)


class Trees:
    """A score that is not linear, with the same decisions as a linear one."""

    def __init__(self, bias: float) -> None:
        self._line = LogisticScore(WEIGHTS, bias)

    def __call__(self, X: np.ndarray) -> np.ndarray:
        """The scores (n,) of encoded rows (n, D), in steps of .001."""
        return np.asarray(self._line(X).round(3))


def score_of(bias: float, linear: bool) -> Any:
    """A score of income and debts."""
    return LogisticScore(WEIGHTS, bias) if linear else Trees(bias)


def promising(
    promise: Mapping[str, Any] | None = None,
    linear: bool = True,
    decisions: str = "model",
    shards: int = 1,
    threshold: float = 0.5,
) -> Program:
    """A program that promises its options under a score of income and debts."""
    return build_program(
        decisions=decisions,
        shards=shards,
        promise={**(PROMISE if linear else {"kind": "none"}), **(promise or {})},
        window={"time": "P60D", "lateness": "PT5M"},
        policy={"generator": "search", "options": 2, "choice": "posterior"},
        model=cast(Any, SimpleNamespace(score=score_of(BIAS, linear))),
        features=FEATURES,
        threshold=threshold,
    )


class Story(TapeOfPeople):
    """A journal for one program whose options are promised."""

    def applies_with(
        self,
        name: str,
        hours: float,
        income: float = 30.0,
        debts: int = 4,
        applicant: str | UnsetType | None = UNSET,
        previous: str | None = None,
        region: str = "north",
    ) -> None:
        """Ingest an application: of a person of their own, or of the one of ``previous``."""
        features = {"region": region, "income": income, "debts": debts}
        who = self.applicant(name, previous) if applicant is UNSET else applicant
        event = Application("loan", name, features, who, previous)
        self.send("applications", event, round(hours * HOUR_MS), f"a-{name}")

    def new_model(self, version: str, hours: float) -> None:
        """Announce one of the later models."""
        event = Model("loan", version, "memory", digest_of(version))
        self.send("models", event, round(hours * HOUR_MS), f"m-{version}-{hours}")

    def passes(self, hours: float) -> None:
        """Move all clocks, and let so many ticks pass that whatever is done in pieces is done."""
        for number in range(80):
            self.tick(round(hours * HOUR_MS) + number)

    def recourses(self) -> dict[str, Recourse]:
        """The first answers."""
        return {
            answer.application: answer
            for answer in self.answers()
            if isinstance(answer, Recourse) and not answer.is_revision
        }

    def revisions(self) -> list[Recourse]:
        """The revised answers."""
        return [answer for answer in self.answers() if isinstance(answer, Recourse) and answer.is_revision]

    def ends(self) -> list[PromiseChange]:
        """How promises ended."""
        return [event for event in self._promises() if isinstance(event, PromiseChange)]

    def looks(self) -> list[Revalidation]:
        """What new models meant."""
        return [event for event in self._promises() if isinstance(event, Revalidation)]

    def statuses(self) -> Counter[str]:
        """How many options ended in which way."""
        return Counter(event.status for event in self.ends() for _ in cast(Any, event.options))

    def _promises(self) -> list[PromiseChange | Revalidation]:
        return self.run.events("promises", PromiseChange | Revalidation)


def story(
    tmp_path: Any, monkeypatch: Any, program: Program | None = None, biases: Mapping[str, float] = STRICTER
) -> Story:
    """A journal for a program, whose later models have these ``biases``."""
    own = promising() if program is None else program
    linear = isinstance(own.bundle.model.score, LogisticScore)
    bundles = {
        digest_of(version): replace(
            own.bundle,
            version=version,
            manifest_sha256=digest_of(version),
            model=cast(Any, SimpleNamespace(score=score_of(bias, linear))),
        )
        for version, bias in biases.items()
    }
    bundles[own.bundle.manifest_sha256] = own.bundle
    monkeypatch.setattr(Program, "load", lambda self, manifest, sha256: bundles[sha256])
    return Story(PipelineRun({"loan": own}, tmp_path))


def open_recourses(ledger: Path) -> list[PromisedOptions]:
    """The open recourses at rest in a ledger."""
    bodies = rows(ledger, "SELECT body FROM promised_options ORDER BY application")
    return [msgspec.msgpack.decode(without_checksum(body), type=PromisedOptions) for (body,) in bodies]


def record_of(ledger: Path) -> PromiseState:
    """What a ledger holds of its only program's promises beside the open ones."""
    [(body,)] = rows(ledger, "SELECT body FROM promise_state")
    return msgspec.msgpack.decode(without_checksum(body), type=PromiseState)


def digest_of(version: str) -> str:
    """A hash for a later model."""
    return version[1:] * 64


def small_pieces(monkeypatch: Any, units: int = 1) -> None:
    """Let an entry look at few people, whatever kind it is."""
    monkeypatch.setattr(revalidation.REVALIDATION, "budget", WorkBudget(units, units))
    small = {"REPLACEMENT_UNITS": 1, "LARGE_MODEL_UNITS": 1, "LEAST_PAGE": 2}
    for name, value in small.items():
        monkeypatch.setattr(revalidation, name, value)

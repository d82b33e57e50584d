"""Small programs as specs and model files on disk, and applicants for them."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
from msgspec import structs
from sklearn.linear_model import LogisticRegression

from onward.schemas.encoding import FeatureCodec
from onward.schemas.events import Model, RawSpec, Value
from onward.schemas.spec import ProgramSpec
from onward.streams.programs.announced_spec import spec_event
from onward.streams.programs.bundle.manifest import MANIFEST
from onward.streams.programs.bundle.writer import write_bundle
from onward.streams.programs.program import Program
from onward.testing.program import FEATURES

PICKED = {"objective": "cost", "choice": "emc", "generator": "search", "cost": "mixed", "options": 3, "samples": 60}
"""A policy that learns from which options people would take."""
WEIGHTS = (
    {"probability": 0.5, "mean": [1.0, 2.0, 3.0, -0.5], "sd": 1.0},
    {"probability": 0.5, "mean": [1.0, 3.0, 2.0, 0.5], "sd": 1.0},
)
"""Two kinds of people, of whom so little is known that most are asked a second question."""
POLICIES: Mapping[str, Mapping[str, Any]] = {
    "steps": {"policy": {"choice": "linucb", "generator": "adapted", "options": 3, "window": {"steps": 20}}},
    "timed": {
        "policy": {
            "choice": "protoar",
            "generator": "search",
            "options": 3,
            "window": {"time": "PT2S", "lateness": "PT1S"},
        }
    },
    "decided": {
        "policy": {"choice": "linucb", "generator": "instances", "options": 1, "window": {"steps": 10}},
        "decisions": "external",
        "instances": {"publish": True},
    },
    "limited": {
        "policy": {
            "choice": "posterior",
            "generator": "search",
            "goal": "capacity",
            "window": {"time": "PT5S", "lateness": "PT1S"},
        },
        "capacity": {"places": 20, "round": "PT2S", "horizon": 2},
        "shards": 1,
    },
    "promised": {
        "policy": {
            "choice": "posterior",
            "generator": "search",
            "options": 2,
            "window": {"time": "PT2S", "lateness": "PT1S"},
        },
        "decisions": "external",
        "promise": {"kind": "lp", "radius": 0.05, "valid_for": "PT4S"},
    },
    "picked": {"policy": {**PICKED, "window": {"time": "PT2S", "lateness": "PT1S"}}},
    "staged": {
        "policy": {
            "objective": "cost",
            "choice": "stages",
            "generator": "search",
            "options": 3,
            "window": {"acted": "PT1S", "outcome": "PT3S", "lateness": "PT1S", "acting": "returns"},
        }
    },
    "asking": {
        "policy": {
            "objective": "cost",
            "choice": "protoar",
            "generator": "plans",
            "cost": "causal",
            "options": 3,
            "window": {"time": "PT2S", "lateness": "PT1S"},
        },
        "elicitation": {
            "questions": 2,
            "tolerance": 0,
            "deadline": "PT2S",
            "influences": [["income", "debts"]],
            "prior": {"components": WEIGHTS},
        },
    },
}
"""The parts of the specs that differ, by program: one for each kind of window, of decision and of option, one with
limited places, one whose options are promised to survive a new model, one whose people say what they would take, one
that learns by stages, and one that asks them."""
SHARDS = 3
CANDIDATES = 40
_LABELLED = 300


def features(random: np.random.Generator, max_income: int = 60) -> dict[str, Value]:
    """Draw the features of one applicant."""
    return {
        "region": str(random.choice(["north", "south"])),
        "income": float(random.integers(0, max_income)),
        "debts": int(random.integers(0, 11)),
    }


def write_programs(folder: Path, policies: Mapping[str, Mapping[str, Any]] = POLICIES) -> list[Path]:
    """Write spec and model of every program; return the paths of the specs."""
    return [_write(folder, name, policy) for name, policy in policies.items()]


def announcements(folder: Path) -> list[Model]:
    """Return the events that make ``promised`` decide by its second model, and by its first one again."""
    program = "promised"
    found = []
    for version in ("v2", "v1"):
        manifest = _bundle(folder, program, version) / MANIFEST
        digest = hashlib.sha256(manifest.read_bytes()).hexdigest()
        found.append(Model(program, version, str(manifest), digest))
    return found


def changed_specs(programs: Mapping[str, Program]) -> list[RawSpec]:
    """Return the events that change what ``timed`` and ``limited`` may suggest and give, and change it back."""
    timed, limited = programs["timed"], programs["limited"]
    fewer = structs.replace(
        timed.spec,
        policy=structs.replace(timed.spec.policy, options=2, exploration=0.2),
        constraints=structs.replace(timed.spec.constraints, max_changes=1),
    )
    assert limited.spec.capacity is not None, "a program with rounds has places"
    scarcer = structs.replace(limited.spec, capacity=structs.replace(limited.spec.capacity, places=10))
    return [spec_event(one) for one in (timed.changed(fewer), limited.changed(scarcer), timed, limited)]


def _bundle(folder: Path, program: str, version: str) -> Path:
    return folder / f"{program}-{version}"


def _write(folder: Path, name: str, policy: Mapping[str, Any]) -> Path:
    content = {
        "program": name,
        "features": FEATURES,
        "label": {"name": "repaid"},
        "model": {"manifest": f"{name}-v1/{MANIFEST}"},
        "shards": SHARDS,
        **policy,
    }
    spec = msgspec.convert(content, ProgramSpec, strict=False)
    codec, random = FeatureCodec(spec), np.random.default_rng(7)
    rows = [features(random, max_income=101) for _ in range(_LABELLED)]
    X = codec.encode_many(rows)
    for version, required in {"v1": 0.5, "v2": 0.55}.items():
        model = LogisticRegression(C=100.0).fit(X, X[:, 2] - 0.3 * X[:, 3] > required)
        write_bundle(
            _bundle(folder, name, version),
            spec,
            codec.columns,
            version=version,
            estimator=model,
            instances=[row for row, good in zip(rows, model.predict(X), strict=True) if good][:CANDIDATES],
            reference=rows,
        )
        if "promise" not in policy:
            break
    path = folder / f"{name}.yaml"
    # JSON is YAML; the spec's defaults are written out.
    path.write_bytes(msgspec.json.encode(spec))
    return path

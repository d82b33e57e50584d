"""Writes a small installation of the version that runs it: programs, journal, outputs, and a ledger in between.

    git worktree add --detach /tmp/old/tree COMMIT && mkdir /tmp/path && ln -s /tmp/old/tree /tmp/path/onward
    PYTHONPATH=/tmp/path PYTHONSAFEPATH=1 python tests/support/kept_ledger.py schema_10.tar.xz

The upgrade tests go on with it (``tests/streams/ledger/migrations/``). It is written by each version's own ingest and
engine, so this file uses only what all of them have. Addresses are relative to the folder of the installation.
"""

from __future__ import annotations

import asyncio
import hashlib
import importlib
import io
import json
import os
import shutil
import sys
import tarfile
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
from sklearn.linear_model import LogisticRegression

from onward.schemas import events
from onward.schemas.encoding import FeatureCodec
from onward.schemas.spec import ProgramSpec
from onward.streams.ingest.ingest import Ingest
from onward.streams.ledger.schema import SCHEMA_VERSION
from onward.streams.metrics import Metrics
from onward.streams.programs.bundle.writer import write_bundle
from onward.streams.programs.spec_check import load_program_spec
from onward.streams.records import TopicPartition
from onward.testing.pipeline import START_MS, PipelineRun, Sender, idle_tick, no_clock

FEATURES = (
    {"name": "region", "type": "categorical", "categories": ["north", "south"], "mutable": "none"},
    {"name": "income", "type": "continuous", "bounds": [0, 100], "unit": "kEUR"},
    {"name": "debts", "type": "integer", "bounds": [0, 10], "mutable": "down"},
)
TIMED = {"time": "PT2S", "lateness": "PT1S"}
ROUNDS = {"time": "PT6S", "lateness": "PT1S"}
WEIGHTS = (
    {"probability": 0.5, "mean": [1.0, 2.0, 3.0, -0.5], "sd": 1.0},
    {"probability": 0.5, "mean": [1.0, 3.0, 2.0, 0.5], "sd": 1.0},
)
SINCE_10: Mapping[str, Mapping[str, Any]] = {
    "plain": {"shards": 2},
    "steps": {"policy": {"choice": "linucb", "generator": "adapted", "window": {"steps": 8}}, "shards": 2},
    "timed": {"policy": {"choice": "protoar", "generator": "search", "window": TIMED}, "shards": 2},
    "decided": {
        "policy": {"choice": "linucb", "generator": "instances", "options": 1, "window": {"steps": 5}},
        "decisions": "external",
    },
    "limited": {
        "policy": {"choice": "posterior", "generator": "search", "goal": "capacity", "window": ROUNDS},
        "capacity": {"places": 4, "round": "PT2S", "horizon": 2},
    },
    "promised": {
        "policy": {"choice": "posterior", "generator": "search", "options": 2, "window": TIMED},
        "decisions": "external",
        "promise": {"kind": "lp", "radius": 0.05, "valid_for": "PT4S"},
    },
}
SINCE_14: Mapping[str, Mapping[str, Any]] = {
    "picked": {
        "policy": {
            **{"objective": "cost", "choice": "emc", "generator": "search", "cost": "mixed", "options": 3},
            **{"samples": 60, "window": TIMED},
        }
    },
}
SINCE_15: Mapping[str, Mapping[str, Any]] = {
    "asking": {
        "policy": {
            **{"objective": "cost", "choice": "protoar", "generator": "plans", "cost": "causal", "options": 3},
            "window": TIMED,
        },
        "elicitation": {
            **{"questions": 2, "tolerance": 0, "influences": [["income", "debts"]]},
            "prior": {"components": WEIGHTS},
        },
    },
}
PEOPLE = 32
"""Of each program, before the ledger is kept; half as many after it."""
STEP_MS = 300
ROWS = 80


def programs() -> Mapping[str, Mapping[str, Any]]:
    """The programs that this version knows, as their files say: what is left out has the default of the version."""
    later = {14: SINCE_14, 15: SINCE_15}
    return {
        **SINCE_10,
        **{name: one for since, own in later.items() if since <= SCHEMA_VERSION for name, one in own.items()},
    }


def write_program(name: str, terms: Mapping[str, Any]) -> None:
    """Write a spec and its bundles into the working folder."""
    content = {
        "program": name,
        "features": FEATURES,
        "label": {"name": "repaid"},
        "model": {"manifest": f"{name}-v1/manifest.json"},
        **terms,
    }
    Path(f"{name}.yaml").write_text(json.dumps(content, indent=1))
    spec = msgspec.convert(content, ProgramSpec, strict=False)
    codec, random = FeatureCodec(spec), np.random.default_rng(7)
    rows = [features(random, 101) for _ in range(ROWS)]
    X = codec.encode_many(rows)
    for version, required in {"v1": 0.5, "v2": 0.55}.items():
        model = LogisticRegression(C=100.0).fit(X, X[:, 2] - 0.3 * X[:, 3] > required)
        accepted = [row for row, good in zip(rows, model.predict(X), strict=True) if good]
        write_bundle(
            Path(f"{name}-{version}"),
            spec,
            codec.columns,
            version=version,
            estimator=model,
            instances=accepted[:20],
            reference=rows,
        )
        if name != "promised":
            break


def features(random: np.random.Generator, most: int = 60) -> dict[str, Any]:
    """The features of one person."""
    return {
        "region": str(random.choice(["north", "south"])),
        "income": float(random.integers(0, most)),
        "debts": int(random.integers(0, 11)),
    }


def story(names: Mapping[str, Any], first: int, until: int) -> Iterator[tuple[int, str, Any, str]]:
    """What happens: time in ms, topic, event, ``ce_id``. Everybody comes, is decided, and tells how it went."""
    for number in range(first, until):
        random = np.random.default_rng(number)
        for name in names:
            ms, who = number * STEP_MS, f"{name}-{number}"
            back = {"applicant": f"person {number % 15}"} if name == "limited" else {}
            if name == "limited" and number >= 15:
                back["previous"] = f"{name}-{number - 15}"
            yield ms, "applications", events.Application(name, who, features(random), **back), f"a-{who}"
            if names[name].get("decisions") == "external":
                # Some come after their outcome, which waits for them.
                wait_ms = 1500 if number % 6 == 1 else 20
                yield ms + wait_ms, "decisions", events.Decision(name, who, bool(number % 4 == 0)), f"d-{who}"
            if name == "picked":
                yield ms + 100, "answers", events.Answer(name, who, str(1 + number % 2)), f"s-{who}"
            if name == "asking" and number % 3:
                for question in (1, 2):
                    answer = events.Answer(name, who, str(1 + number % 2), question)
                    yield ms + 100 * question, "answers", answer, f"s{question}-{who}"
            if number % 5:
                result: Any = "unseen" if number % 7 == 0 else "improved" if number % 2 else "not_improved"
                yield ms + 1200, "outcomes", events.Outcome(name, who, result), f"o-{who}"


def assembler() -> Any:
    """The function that makes a program of a spec; it has moved."""
    try:
        from onward.streams.programs.assembly import assemble
    except ImportError:
        assemble = importlib.import_module("onward.streams.programs.program").assemble
    return assemble


def model_event(version: str) -> Any:
    """The announcement of a model of ``promised``."""
    manifest = f"promised-{version}/manifest.json"
    return events.Model("promised", version, manifest, hashlib.sha256(Path(manifest).read_bytes()).hexdigest())


async def write(archive: Path) -> None:
    """Write the installation into the working folder, and then all of it into an archive."""
    known = programs()
    for name, terms in known.items():
        write_program(name, terms)
    assemble = assembler()
    served = {name: assemble(load_program_spec(Path(f"{name}.yaml"))) for name in known}
    run, sender = PipelineRun(served, Path("state")), Sender()
    ingest = Ingest(run.topics, served, run.broker, Metrics(), no_clock)
    await ingest.assigned(TopicPartition(topic, 0) for topic in run.topics.inputs)
    journal, told = run.broker.logs[run.topics.journal, 0], 0
    happens = sorted(story(known, 0, PEOPLE + PEOPLE // 2), key=lambda one: one[0])
    cut_ms, cut = PEOPLE * STEP_MS, 0
    announced = {cut_ms // 2: "v2", cut_ms * 3 // 2: "v1"}
    for ms, topic, event, id in happens:
        if announced and ms >= min(announced):
            version = announced.pop(min(announced))
            await ingest.handle(
                [sender.record("models", model_event(version), time_ms=START_MS + ms, id=f"m-{version}")]
            )
        if ms % (3 * STEP_MS) == 0:
            journal.append(idle_tick(run, START_MS + ms))
            ledger = await run.fold(list(journal), name="kept")
            shared = run.broker.logs["increments", 0]
            for one in shared[told:]:
                await ingest.handle([one])
            told = len(shared)
        if not cut and ms >= cut_ms:
            ledger, cut = await run.fold(list(journal), name="kept"), len(journal)
            shutil.copy(ledger, "journal-0.sqlite")
        await ingest.handle([sender.record(topic, event, time_ms=START_MS + ms, id=id)])
    journal.append(idle_tick(run, START_MS + happens[-1][0]))
    await run.fold(list(journal), name="kept")
    keep("journal.json", [[one.timestamp_ms, (one.value or b"").decode()] for one in journal])
    keep("outputs.json", outputs(run))
    shutil.rmtree("state")
    pack(archive)


def keep(name: str, content: Any) -> None:
    """Write a file into the working folder."""
    Path(name).write_text(json.dumps(content))


def outputs(run: PipelineRun) -> dict[str, Any]:
    """What is published, by topic: timestamp, key, value, headers."""
    return {
        topic: [
            [
                one.timestamp_ms,
                None if one.key is None else one.key.decode(),
                (one.value or b"").decode(),
                [[name, value.decode()] for name, value in one.headers],
            ]
            for one in run.broker.logs[topic, 0]
        ]
        for topic in run.topics.outputs
    }


def pack(archive: Path) -> None:
    """Put the working folder into an archive that says nothing of this machine."""
    with tarfile.open(archive, "w:xz") as tar:
        for path in sorted(Path().rglob("*")):
            if path.is_file():
                member = tarfile.TarInfo(str(path))
                member.size = path.stat().st_size
                tar.addfile(member, io.BytesIO(path.read_bytes()))


if __name__ == "__main__":
    target = Path(sys.argv[1]).resolve()
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        asyncio.run(write(target))

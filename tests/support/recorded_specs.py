"""Specs of every kind, and what one small journal gives under each.

    python -m onward.tests.support.recorded_specs    # writes tests/streams/programs/recorded_specs.json

What depends on the libraries' versions, such as
the hash of a manifest, is left out of what is compared.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
from msgspec import UNSET
from msgspec.structs import replace

from onward.agents.costs import SampledCost
from onward.schemas.events import Answer, Application, Decision, Model, Outcome, RawSpec, Result, Round
from onward.streams.programs.announced_spec import spec_event
from onward.streams.programs.assembly import assemble
from onward.streams.programs.bundle.loader import read_manifest
from onward.streams.programs.bundle.manifest import MANIFEST
from onward.streams.programs.policy_version import policy_version
from onward.streams.programs.program import Program
from onward.streams.programs.spec_check import load_program_spec
from onward.streams.records import Record
from onward.testing.pipeline import START_MS, PipelineRun, Sender, idle_tick
from onward.tests.support.fixed_models import FEATURES, drawn_person, spec_text, write_model

RECORDED = Path(__file__).parents[1] / "streams" / "programs" / "recorded_specs.json"
MINUTE_MS = 60_000
HOUR_MS = 60 * MINUTE_MS
PEOPLE, RETURNING = 14, 7
RESULTS: Sequence[Result] = ("improved", "not_improved", "improved", "unseen")

RULES = """\
constraints:
  max_changes: 2
  le: [[debts, income]]
  rules: [{if: {feature: debts, at_most: 1}, then: {feature: income, at_least: 30}}]
"""
TIMED = "window: {time: P30D, lateness: PT5M}"
HOURLY = "capacity: {places: 3, round: PT1H, horizon: 2}"

PLANS = "generator: plans, choice: protoar, window: {time: P30D, lateness: PT5M}"
PUBLISHED = "\ninstances: {publish: true}"
ASKS = """\
elicitation:
  deadline: PT2H
  tolerance: 0"""

SPECS: Mapping[str, str] = {
    # Options that are easy.
    "instances": "policy: {objective: cost, generator: instances, options: 1, window: {steps: 4}}" + PUBLISHED,
    "linucb": "policy: {objective: cost, choice: linucb, generator: instances, options: 1, window: {steps: 4}}"
    + PUBLISHED,
    "linucb parameters": "policy: {objective: cost, choice: linucb, parameters: {delta: 0.2}, generator: instances}"
    + PUBLISHED,
    "bwo_ucb": "policy: {objective: cost, choice: bwo_ucb, generator: instances, options: 2, window: {steps: 4}}"
    + PUBLISHED,
    "by cost": "policy: {objective: cost}",
    "percentile shift": "policy: {objective: cost, cost: max_percentile_shift}",
    "linear": "policy: {objective: cost, generator: linear, options: 2}",
    "adapted by cost": "policy: {objective: cost, generator: adapted}",
    "maximal_success": "policy: {objective: cost, generator: maximal_success}",
    "margin": "policy: {objective: cost, margin: 0.1}",
    "measured margin": "policy: {objective: cost, margin: auto}",
    "target": "policy: {objective: cost, target: 0.7}",
    "nu": "policy: {objective: cost, nu: 0.5}",
    "exploration": "policy: {objective: cost, exploration: 0.4, seed: 3}",
    "window of time": "policy: {objective: cost, window: {time: PT20M, lateness: PT2M}}",
    "decided elsewhere": "policy: {objective: cost}\ndecisions: external",
    "shards": "policy: {objective: cost, window: {steps: 2}}\nshards: 3",
    # Options that help.
    "default": "",
    "by the score": "# no improvement",
    "instances that help": "policy: {generator: instances}\ncandidates: 6" + PUBLISHED,
    "adapted": "policy: {generator: adapted, options: 2}",
    "residual parameters": "policy: {parameters: {optimism: 0.2, arm_sd: 0.1}}",
    "dearest": "policy: {generator_parameters: {dearest: 1.5}}",
    "ten options": "policy: {options: 10}",
    "rules": RULES,
    "largest changes": "",
    "protected": "",
    "missing": "",
    "trees": "# trees",
    "shards that share": "shards: 4\npolicy: {window: {steps: 2}}",
    "improvement by linucb": "policy: {choice: linucb, window: {steps: 5}}",
    "retention": "retention: {closed: PT3H, undecided: PT1H}\ndecisions: external",
    # What people say.
    "mixed": "policy: {objective: cost, cost: mixed, samples: 60, options: 3}",
    "emc": "policy: {objective: cost, choice: emc, cost: percentile, samples: 60, options: 3}",
    "plans by cost": "policy: {objective: cost, generator: plans, choice: protoar, options: 2}",
    "plans that help": "policy: {generator: plans, choice: protoar, cost: causal, options: 2}",
    "asks by cost": f"policy: {{objective: cost, {PLANS}, cost: mixed, samples: 60}}\n{ASKS}",
    "asks": f"policy: {{{PLANS}, cost: mixed, samples: 60, options: 3}}\n{ASKS}",
    "asks of weights": f"policy: {{{PLANS}, cost: causal}}\n{ASKS}\n  influences: []",
    # Rounds.
    "capacity": f"policy: {{goal: capacity, {TIMED}}}\n{HOURLY}",
    "capacity by cost": f"policy: {{objective: cost, goal: capacity, {TIMED}}}\n{HOURLY}",
    "announced": f"policy: {{goal: capacity, goal_parameters: {{memory: .9}}, {TIMED}}}\ncapacity: {{places: 2}}",
    "conformal": f"policy: {{goal: conformal, goal_parameters: {{memory: 0.8}}, {TIMED}}}\n{HOURLY}",
    "conformal without offset": f"policy: {{goal: conformal, {TIMED}}}\n{HOURLY[:-1]}, offset: false}}",
    "last_threshold": f"policy: {{goal: last_threshold, {TIMED}}}\n{HOURLY}",
    "fixed": f"policy: {{goal: fixed, goal_parameters: {{score: 0.8}}, {TIMED}}}\n{HOURLY}",
    "sac": f"policy: {{goal: sac, {TIMED}}}\n{HOURLY}",
    "rounds decided elsewhere": f"policy: {{goal: capacity, {TIMED}}}\n{HOURLY}\ndecisions: external",
    "plans in rounds": f"policy: {{objective: cost, generator: maximal_success, goal: capacity, {TIMED}}}\n{HOURLY}",
    "trees in rounds": f"policy: {{goal: conformal, {TIMED}}}\n{HOURLY}\n# trees",
    # Promises.
    "lp": "promise: {kind: lp}",
    "lp radius": "promise: {kind: lp, radius: 0.05, valid_for: PT9H}",
    "lp of another norm": "promise: {kind: lp, norm: 1, quantile: 0.2, margin: 0.02}",
    "lp of the largest change": "policy: {objective: cost}\npromise: {kind: lp, norm: inf, radius: 0.02}",
    "lp honoured": "promise: {kind: lp, radius: 0.05, grandfather: true}",
    "lp decided elsewhere": "promise: {kind: lp, radius: 0.05}\ndecisions: external",
    "lp adapted": "policy: {generator: adapted}\npromise: {kind: lp, radius: 0.05}",
    "ellipsoid": "promise: {kind: ellipsoid}",
    "ellipsoid radius": "policy: {objective: cost}\npromise: {kind: ellipsoid, radius: 1.5, margin: 0.01}",
    "retrains": "promise: {kind: retrains}",
    "retrains of another quantile": "promise: {kind: retrains, quantile: 0.3}",
    "retrains of trees": "policy: {objective: cost}\npromise: {kind: retrains, valid_for: P2D}\n# trees",
    "retrains adapted": "policy: {generator: adapted}\npromise: {kind: retrains, quantile: 0.2}",
}
"""What each spec has beside its features, by a name for it. Comments say what its models are."""
OF_FEATURES: Mapping[str, Mapping[str, str]] = {
    "largest changes": {"step: 1": "step: 1, max_change: 20", "mutable: down": "mutable: down, max_change: 50%"},
    "protected": {"mutable: none": "mutable: none, protected: true, pii: true"},
    "missing": {"mutable: down": "mutable: down, missing: 3"},
}
"""What specs say otherwise of their features."""


def program_of(name: str, folder: Path) -> Program:
    """The program of a spec, with its models ``v1`` and ``v2`` in the folder, as a worker assembles it."""
    own, text, path = FEATURES, SPECS[name], folder / "spec.yaml"
    for old, new in OF_FEATURES.get(name, {}).items():
        own = own.replace(old, new)
    path.write_text(spec_text(text, own), encoding="utf-8")
    loaded = load_program_spec(path)
    for version, bias in (("v1", -2.9), ("v2", -3.7)):
        trees, improves = "# trees" in text, "# no improvement" not in text
        write_model(folder / version, loaded.spec, bias, trees=trees, improves=improves)
    return assemble(loaded)


async def fold(program: Program, folder: Path) -> dict[str, list[Any]]:
    """What the journal gives: by topic the key, the value, the time and the headers of each output."""
    run = PipelineRun({program.name: program}, folder)
    await run.ingest(list(_inputs(program, Sender())))
    journal = run.broker.logs["journal", 0]
    for hours in (30, 31, *range(24 * 40, 24 * 40 + 12)):
        journal.append(idle_tick(run, START_MS + hours * HOUR_MS))
    await run.fold(journal)
    return {topic: list(outputs) for topic, outputs in run.outputs().items()}


def _inputs(program: Program, sender: Sender) -> Iterator[Record]:
    """People apply, some with outcomes; a second model and a changed spec come; some come back with more income."""
    random, external = np.random.default_rng(11), program.spec.decisions == "external"
    people = [drawn_person(random) for _ in range(PEOPLE)]
    if program.closes_rounds and program.spec.capacity is not None and program.spec.capacity.round is None:
        for hours in (1, 2, 3, 8, 12):
            event = Round(program.name, _moment(hours), 2 + hours % 2)
            yield sender.record("rounds", event, time_ms=START_MS, id=f"r-{hours}")

    def arrives(name: str, features: Mapping[str, Any], ms: int, approved: bool, **links: str) -> Iterator[Record]:
        application = Application(program.name, name, features, **links)
        yield sender.record("applications", application, time_ms=START_MS + ms, id=f"a-{name}")
        if external:
            decision = Decision(program.name, name, approved)
            yield sender.record("decisions", decision, time_ms=START_MS + ms + 1, id=f"d-{name}")

    for number, features in enumerate(people):
        if number % 5 == 1 and program.spec.features[2].missing is not None:
            features = {name: value for name, value in features.items() if name != "debts"}
        yield from arrives(f"p{number}", features, 10 * number * MINUTE_MS, number % 4 == 0, applicant=f"who-{number}")
        if number >= 4:
            outcome = Outcome(program.name, f"p{number - 4}", RESULTS[number % 4], "1")
            yield sender.record("outcomes", outcome, time_ms=START_MS + 10 * number * MINUTE_MS + 5, id=f"o-{number}")
        if program.asks or isinstance(program.cost, SampledCost):
            question = 1 + number // 2 % 2 if program.asks else UNSET
            answer = Answer(program.name, f"p{max(0, number - 2)}", (None, "1", "2")[number % 3], question)
            yield sender.record("answers", answer, time_ms=START_MS + 10 * number * MINUTE_MS + 6, id=f"w-{number}")
    address = str(Path(program.bundle.address).parents[1] / "v2" / MANIFEST)
    model = Model(program.name, "v2", address, read_manifest(address)[1])
    yield sender.record("models", model, time_ms=START_MS + 3 * HOUR_MS, id="m-v2")
    changed = _changed(program)
    yield sender.record("specs", changed, time_ms=START_MS + 3 * HOUR_MS + 20 * MINUTE_MS, id="s-changed")
    for number, features in enumerate(people[:RETURNING]):
        better = {**features, "income": min(100, int(features["income"]) + 8 * number), "debts": 0}
        at = (145 + 12 * number) * MINUTE_MS
        yield from arrives(f"q{number}", better, at, number % 2 == 0, previous=f"p{number}", applicant=f"who-{number}")


def _changed(program: Program) -> RawSpec:
    """The spec with another seed and exploration, which every program may have."""
    spec = program.spec
    return spec_event(program.changed(replace(spec, policy=replace(spec.policy, seed=7, exploration=0.2))))


def _moment(hours: float) -> datetime:
    return datetime.fromtimestamp((START_MS + hours * HOUR_MS) / 1000, UTC)


LEFT_OUT = ("model_sha256", "policy_version")
"""What depends on a manifest's bytes, and so on the versions of libraries."""


def recorded(name: str) -> dict[str, str]:
    """The hashes of a spec, of its policy, and of the outputs by topic, with floats as far as machines agree."""
    with tempfile.TemporaryDirectory() as folder:
        program = program_of(name, Path(folder))
        outputs = asyncio.run(fold(program, Path(folder)))
    hashes = {topic: _digest([_comparable(output) for output in every]) for topic, every in outputs.items() if every}
    policy = policy_version(program.spec, program.nu, "", len(program.points))
    return {"spec": program.sha256, "policy": policy, **hashes}


def _comparable(output: Sequence[Any]) -> Any:
    key, value, time_ms, _ = output
    event = json.loads(value, parse_float=lambda digits: float(f"{float(digits):.7g}"))
    return [key and key.decode(), {name: each for name, each in event.items() if name not in LEFT_OUT}, time_ms]


def _digest(content: Any) -> str:
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()[:16]


if __name__ == "__main__":
    names = sys.argv[1:] or list(SPECS)
    known = json.loads(RECORDED.read_text()) if RECORDED.exists() else {}
    known |= {name: recorded(name) for name in names}
    RECORDED.write_text(json.dumps({name: known[name] for name in SPECS if name in known}, indent=1) + "\n")

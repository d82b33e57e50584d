"""A program, assembled: spec, codec, recourse instances, cost, choice and first model, ready for the engine.

Everything here is fixed for the program's life; what changes while it runs (learner, current model, step) is in
``state.py``. The set of candidates comes from the first model's bundle and stays, so that what is learned about a
candidate outlives a retrained model; each model only says which of them it accepts.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import msgspec
import numpy as np
from numpy.typing import NDArray

from ...agents.candidates import RecourseInstances
from ...agents.choices import TAP, Choice, Verifier, registry
from ...agents.costs import L1, Cost, MaxPercentileShift
from ...agents.goals import accepted
from ...schemas.encoding import FeatureCodec, Values
from ...schemas.events import Change, Value
from ...schemas.spec import ProgramSpec
from ...schemas.specfile import LoadedSpec
from ..errors import UsageError
from ..journal.journal import journal_key
from .bundle import ModelBundle, load_bundle
from .spec_check import policy_faults

Array = NDArray[np.float64]
Features = Mapping[str, Value]

STEPS_IN_A_TIME_WINDOW = 10
"""The learner's window of pending steps where the program's window is an event time."""

POLICY_VERSION_CHARACTERS = 16


@dataclass(frozen=True)
class Program:
    """One decision process. ``points`` are the candidates, encoded, shape (K, D); ``instances`` the same, raw."""

    spec: ProgramSpec
    sha256: str
    codec: FeatureCodec
    bundle: ModelBundle
    instances: tuple[Features, ...]
    points: Array
    cost: Cost
    nu: float

    @property
    def name(self) -> str:
        """The program's name."""
        return self.spec.program

    @cached_property
    def window_steps(self) -> int | None:
        """Steps an outcome may take, None where the window is an event time."""
        return self.spec.policy.window.steps

    @cached_property
    def window_ms(self) -> int | None:
        """Event time an outcome may take, None where the window counts steps."""
        time = self.spec.policy.window.time
        return None if time is None else round(time.total_seconds() * 1000)

    @cached_property
    def lateness_ms(self) -> int:
        """How far records of one input partition may be out of time order."""
        return round(self.spec.policy.window.lateness.total_seconds() * 1000)

    @cached_property
    def retention_ms(self) -> int:
        """How long closed cases and settled events are remembered, in event time."""
        return round(self.spec.retention.closed.total_seconds() * 1000)

    @cached_property
    def undecided_ms(self) -> int:
        """How long a case waits for its decision, in event time."""
        return round(self.spec.retention.undecided.total_seconds() * 1000)

    def learner(self) -> Choice:
        """A choice that has seen nothing."""
        policy = self.spec.policy
        window = policy.window.steps or STEPS_IN_A_TIME_WINDOW
        learner = registry[policy.choice](self.points, window, **policy.parameters)
        verifier = self.bundle.verifier
        if isinstance(learner, TAP) and verifier is not None:
            learner.verifier = Verifier(verifier.model.score, self.bundle.model.score, verifier.tolerance)
        return learner

    @cached_property
    def policy_version(self) -> str:
        """A hash of what decides how this program picks, but for what it has learned: the choice, its revision and
        parameters, the rest of the policy, and the first model with the candidates."""
        policy = self.spec.policy
        choice = registry[policy.choice]
        parameters = {name: parameter.default for name, parameter in choice.parameters().items()} | policy.parameters
        facts = (
            policy.choice,
            choice.revision,
            parameters,
            (policy.window.steps, self.window_ms),
            (policy.cost, self.nu),
            (policy.exploration, policy.seed),
            (self.bundle.manifest_sha256, len(self.points)),
        )
        content = msgspec.json.encode(facts, order="deterministic")
        return hashlib.sha256(content).hexdigest()[:POLICY_VERSION_CHARACTERS]

    @cached_property
    def ignores_zero_reward(self) -> bool:
        """Whether a reward of 0 teaches its learner nothing."""
        return registry[self.spec.policy.choice].ignores_zero_reward

    def candidates(self, bundle: ModelBundle) -> RecourseInstances:
        """The candidates, those masked out that a model rejects or whose instance breaks a constraint."""
        return self._instances.with_valid(accepted(bundle.model.score(self.points), self.spec.model.threshold))

    @cached_property
    def _instances(self) -> RecourseInstances:
        spec = self.spec
        allowed = np.array([self.codec.violated_constraint(row) is None for row in self.instances], dtype=bool)
        return RecourseInstances(
            self.points,
            self.codec.feature_of,
            mutable=tuple(feature.mutable for feature in spec.features),
            smallest_change=_smallest_changes(spec),
            valid=np.ones(len(self.points), dtype=bool),
            allowed=allowed,
            max_changes=spec.constraints.max_changes,
            feature_names=tuple(feature.name for feature in spec.features),
        )

    def load(self, manifest: str, sha256: str | None) -> ModelBundle:
        """A model version of this program; raise ``ModelError`` when it is refused."""
        return load_bundle(manifest, sha256=sha256, columns=self.codec.columns)

    def approves(self, scores: Array) -> NDArray[np.bool_]:
        """Which scores, shape (n,), the program's own model approves."""
        return np.asarray(accepted(scores, self.spec.model.threshold))

    def changes(self, person: Values, candidate: int) -> tuple[Change, ...]:
        """What a person changes to become a candidate, in raw values and the spec's order."""
        return tuple(
            [
                Change(name, current, target, unit)
                for current, (name, target, unit) in zip(person, self._targets[candidate], strict=True)
                if current != target
            ]
        )

    @cached_property
    def _targets(self) -> list[list[tuple[str, Value, str | None]]]:
        """For every candidate the name, value and unit of its features."""
        features = [(feature.name, feature.unit) for feature in self.spec.features]
        return [[(name, row[name], unit) for name, unit in features] for row in self.instances]

    @cached_property
    def addresses(self) -> list[tuple[str, bytes]]:
        """For every shard what its outputs have as ``ce_source`` and as key."""
        shards = range(self.spec.shards)
        return [(f"onward/{self.name}/{shard}", journal_key(self.name, shard)) for shard in shards]


def assemble(loaded: LoadedSpec) -> Program:
    """Build a program from its spec and first model; raise ``UsageError`` or ``ModelError`` when they do not fit."""
    spec = loaded.spec
    for _, fault in policy_faults(spec):
        raise UsageError(f"{loaded.path}: {fault}")
    codec = FeatureCodec(spec)
    bundle = load_bundle(_address(loaded), sha256=None, columns=codec.columns)
    if spec.policy.choice == TAP.name and bundle.verifier is None:
        raise UsageError(f"{loaded.path}: model {bundle.version} has no verifier, which tap needs: train one anew")
    instances = tuple(bundle.instances[: spec.candidates])
    for number, problem in enumerate(map(codec.check, instances)):
        if problem is not None:
            raise UsageError(
                f"{loaded.path}: instance {number} of model {bundle.version} does not fit the spec: {problem.detail}"
            )
    points = codec.encode_many(instances)
    cost: Cost = L1() if spec.policy.cost == "l1" else MaxPercentileShift(codec.encode_many(bundle.reference))
    nu = 1.0 / codec.dimension if spec.policy.nu is None else spec.policy.nu
    return Program(spec, loaded.sha256, codec, bundle, instances, points, cost, nu)


def assemble_all(specs: Sequence[LoadedSpec]) -> Mapping[str, Program]:
    """Build every program of a worker; names must differ."""
    programs: dict[str, Program] = {}
    for loaded in specs:
        program = assemble(loaded)
        if program.name in programs:
            raise UsageError(f"{loaded.path}: program {program.name!r} is given twice; each needs its own name")
        programs[program.name] = program
    return programs


def _address(loaded: LoadedSpec) -> str:
    manifest = loaded.spec.model.manifest
    if "://" in manifest or Path(manifest).is_absolute():
        return manifest
    return str(Path(loaded.path).parent / manifest)


def _smallest_changes(spec: ProgramSpec) -> Array:
    """The smallest change of each feature, scaled as the codec scales it; 0 where any change can be made."""
    smallest = np.zeros(len(spec.features))
    for index, feature in enumerate(spec.features):
        if feature.step is not None and feature.bounds is not None:
            low, high = feature.bounds
            smallest[index] = feature.step / (high - low)
    return smallest

"""A program, assembled: its spec and first model, and one method from each room of ``agents/``, by name.

What changes while it runs (learner, current model, step) is in ``engine/state.py``. A changed spec makes another
``Program`` with the same first model (``changed``). The arms come from the first model's bundle and from the specs.
They stay, so that what is learned about an arm outlives a retrained model and a changed spec.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import msgspec
import numpy as np
from msgspec import UNSET, UnsetType
from numpy.typing import NDArray

from ...agents import choices, costs
from ...agents.candidates import CandidateGenerator, Space, Vetting
from ...agents.choices import Choice
from ...agents.consequences import Consequences
from ...agents.costs import Cost, Preferences
from ...agents.goals import Goal, RoundGoal, accepted
from ...agents.objective import Objective
from ...agents.options import OptionBatch
from ...agents.promises import Promise
from ...schemas.encoding import ChangedCodes, FeatureCodec, FilledValues, Values
from ...schemas.events import Change, ExecutionSource, ImprovementSource, Value
from ...schemas.kinds import WatermarkName
from ...schemas.spec import ProgramSpec
from ...schemas.spec_document import document, sha256_of, spec_of
from ...schemas.words.texts import Texts
from ..durations import milliseconds
from ..journal.entries import journal_key
from .arms import Arms, numbered
from .bundle.loader import ModelBundle, load_bundle
from .consequences import consequences_of
from .elicitation import causal_cost
from .encoding import bounds_of
from .limited_places import closes_rounds, round_goal
from .margin import goal_of, margin_of
from .model_fit import Asked, ModelFacts, misfit
from .models.scoring import score_of_options, splits_of
from .objective import generator_of, objective_of, vetting_of
from .policy_version import policy_version
from .promised import has_promise, promise_of, promise_on
from .space import space_of
from .spec_changes import Bounds, SpecRefusedError, check_changes
from .spec_check import policy_faults

Array = NDArray[np.float64]
Features = Mapping[str, Value]
_Target = tuple[str, Value, str | None]
"""The name, raw target and unit of a feature."""

STEPS_IN_A_TIME_WINDOW = 10
"""The learner's window of pending steps where the program's window is an event time."""

SAMPLES = 300
"""Samples of a person's cost function, where the spec does not say it and the cost is sampled."""
SATISFIED = 1.0
"""The most that an option may cost a person who is content with it, where the spec does not say it."""


@dataclass(frozen=True)
class Program:
    """One decision process.

    ``points`` are the recourse instances, encoded, shape (K, D), and ``instances`` the same, raw. ``nu`` scales cost in
    the execution probability. ``earlier`` are the specs that were in force before, oldest first, and ``earlier_arms``
    the arms under them, None where the spec changes none.
    """

    spec: ProgramSpec
    codec: FeatureCodec
    bundle: ModelBundle
    instances: tuple[Features, ...]
    points: Array
    cost: Cost
    nu: float
    earlier: tuple[ProgramSpec, ...] = ()
    earlier_arms: Array | None = None

    @cached_property
    def name(self) -> str:
        """The program's name."""
        return self.spec.program

    @cached_property
    def sha256(self) -> str:
        """The hash of what the spec means."""
        return sha256_of(self.spec)

    @cached_property
    def specs_sha256(self) -> tuple[str, ...]:
        """The hashes of all specs that have been in force, oldest first."""
        return (*map(sha256_of, self.earlier), self.sha256)

    @cached_property
    def trained_bounds(self) -> Bounds:
        """The bounds that the first model was trained with, as far as it says them."""
        return bounds_of(self.bundle.manifest)

    def begun_with(self, spec: ProgramSpec) -> Program:
        """The program with another first spec. Raise ``SpecRefusedError`` where it cannot have been its first one."""
        check_changes(self.spec, spec, self.trained_bounds)
        begun = self._with_spec(spec, (), None)
        if movable(spec) == movable(self.spec):
            return begun
        # A cost is that of the first spec for good: what is learned of its samples stays.
        return replace(begun, cost=cost_of(begun.codec, self.bundle.reference))

    def changed(self, spec: ProgramSpec) -> Program:
        """The program under a changed spec; raise ``SpecRefusedError`` with the reason where it cannot have it."""
        check_changes(self.spec, spec, self.trained_bounds)
        for path, fault in policy_faults(spec):
            raise SpecRefusedError(f"{'.'.join(map(str, path))}: {fault}")
        # Whether it may read and show what it does is asked of specs that are announced: what was answered stays.
        if reason := misfit(ModelFacts.from_bundle(self.bundle), spec, asked=Asked.USE):
            raise SpecRefusedError(reason)
        same_arms = _decides_arms(spec) == _decides_arms(self.spec)
        return self._with_spec(spec, (*self.earlier, self.spec), self.earlier_arms if same_arms else self.arms)

    def _with_spec(self, spec: ProgramSpec, earlier: tuple[ProgramSpec, ...], arms: Array | None) -> Program:
        # Files of one meaning give the same bytes.
        spec = spec_of(document(spec), self.spec.model.manifest)
        codec = FeatureCodec(spec, {feature.name: feature.bounds for feature in self.codec.features if feature.bounds})
        instances = tuple(self.bundle.instances[: spec.candidates])
        points = codec.encode_many(instances)
        return replace(
            self, spec=spec, codec=codec, instances=instances, points=points, earlier=earlier, earlier_arms=arms
        )

    @cached_property
    def window_steps(self) -> int | None:
        """Steps an outcome may take, None where the window is an event time."""
        return self.spec.policy.window.steps

    @cached_property
    def window_ms(self) -> int | None:
        """Event time an outcome may take, None where the window counts steps."""
        time = self.spec.policy.window.length
        return None if time is None else milliseconds(time)

    @cached_property
    def acted_ms(self) -> int | None:
        """Event time that people have to act, where silence then says that they did not and the window goes on."""
        acted = self.spec.policy.window.acted
        return None if acted is None or not self.silence_is_inaction else milliseconds(acted)

    @property
    def learns_by_stages(self) -> bool:
        """Whether its learner learns apart whether people act and whether it helps."""
        return choices.registry[self.spec.policy.choice].by_stages

    @property
    def silence_is_inaction(self) -> bool:
        """Whether somebody of whom nothing is seen has not acted."""
        return self.learns_by_stages and self.spec.policy.window.acting is not None

    @cached_property
    def lateness_ms(self) -> int:
        """How far records of one input partition may be out of time order."""
        return milliseconds(self.spec.policy.window.lateness)

    @cached_property
    def retention_ms(self) -> int:
        """How long closed cases and settled events are remembered, in event time."""
        return milliseconds(self.spec.retention.closed)

    @cached_property
    def undecided_ms(self) -> int:
        """How long a case waits for its decision, in event time."""
        return milliseconds(self.spec.retention.undecided)

    @cached_property
    def answer_ms(self) -> int:
        """How long people may take to answer questions, in event time."""
        assert self.spec.elicitation is not None, f"{self.name} asks nobody"
        return milliseconds(self.spec.elicitation.deadline)

    @cached_property
    def closes_rounds(self) -> bool:
        """Whether its places are limited, and given in rounds."""
        return closes_rounds(self.spec)

    @cached_property
    def watermark(self) -> WatermarkName:
        """The watermark that its timers follow."""
        if self.closes_rounds:
            return "rounds"
        return self.spec.decisions if self.spec.elicitation is None else "answers"

    @property
    def asks(self) -> bool:
        """Whether people who are rejected are asked which plans they would take."""
        return self.spec.elicitation is not None

    def round_goal(self) -> RoundGoal:
        """A goal for its rounds that has seen none."""
        return round_goal(self.spec)

    @cached_property
    def goal(self) -> Goal:
        """The score that an option must reach under the first model."""
        return self.goal_under(self.bundle)

    def goal_under(self, bundle: ModelBundle) -> Goal:
        """The score that an option must reach under a model, which may have a margin of its own.

        Under a promise that has a score of its own, the margin is that of the promise.
        """
        return goal_of(self.spec, margin_of(self.spec, bundle.manifest.margin))

    @cached_property
    def promises(self) -> bool:
        """Whether its options are promised to survive a new model."""
        return has_promise(self.spec)

    @cached_property
    def promise(self) -> Promise:
        """The guarantee of its options, as the spec declares it: nothing is measured, so it guarantees nothing yet."""
        return promise_on(self.spec.promise)

    @cached_property
    def valid_for_ms(self) -> int:
        """How long an option is promised, in event time."""
        return milliseconds(self.spec.promise.valid_for)

    def promise_under(self, bundle: ModelBundle) -> Promise:
        """The guarantee of an option under a model."""
        return promise_of(self.spec, bundle)

    @cached_property
    def space(self) -> Space:
        """The changes that people may make."""
        return space_of(self.codec, self.consequences)

    @cached_property
    def consequences(self) -> Consequences | None:
        """The consequences of changes, by the spec and the first model; None where nothing follows."""
        return consequences_of(self.codec, self.bundle.manifest.effects)

    @cached_property
    def generator(self) -> CandidateGenerator:
        """The generator of options, before it knows which of them a model accepts."""
        return generator_of(self.spec.policy, self.space, self.points, self.objective_under(self.bundle))

    def objective_under(self, bundle: ModelBundle) -> Objective:
        """The objective by which options are compared under a model."""
        return objective_of(self.spec, self.cost, self.nu, bundle.improvement, bundle.model.score, self.consequences)

    def generator_under(self, bundle: ModelBundle) -> CandidateGenerator:
        """The generator of options that reach the goal under a model, and keep the promise."""
        return self.vetting_under(bundle).generator

    def vetting_under(self, bundle: ModelBundle) -> Vetting:
        """The options of people under a model: those of the generator, as far as they may be told."""
        score = score_of_options(bundle.model.score)
        promised = self.promise_under(bundle).robust(score)
        splits = splits_of(bundle.model, self.codec.dimension) if promised is score else None
        objective, goal = self.objective_under(bundle), self.goal_under(bundle)
        retrains = [score_of_options(retrain.score) for retrain in bundle.retrains]
        return vetting_of(self.spec.policy, self.space, self.generator, objective, promised, goal, retrains, splits)

    @cached_property
    def numbering(self) -> Arms:
        """The arms, with the numbers that those of the generator have."""
        return numbered(self.generator.arms, self.earlier_arms)

    @property
    def arms(self) -> Array:
        """The arms that the learner learns about, encoded, shape (K, D)."""
        return self.numbering.rows

    @cached_property
    def arms_sha256(self) -> str:
        """The hash of the arms in the order of their numbers."""
        return hashlib.sha256(np.ascontiguousarray(self.arms).tobytes()).hexdigest()

    @cached_property
    def shares(self) -> bool:
        """Whether its shards tell each other what they have learned, from outcomes or from picks."""
        preferences = self.preferences()
        additive = choices.registry[self.spec.policy.choice].additive or (preferences and preferences.additive)
        return self.spec.shards > 1 and bool(additive)

    def learner(self) -> Choice:
        """A choice that has seen nothing. Its window of steps is that of the program's first spec."""
        policy, first = self.spec.policy, [*self.earlier, self.spec][0]
        window = first.policy.window.steps or STEPS_IN_A_TIME_WINDOW
        learner = choices.registry[policy.choice](self.arms, window, **policy.parameters)
        learner.equip(**{name: self.bundle.artefact(name) for name in learner.needs})
        if self.spec.label.are_selected:
            learner.doubt_level()
        return learner

    @property
    def keeps_people(self) -> bool:
        """Whether its learner keeps rows of single people, so that nobody can be erased."""
        return bool(choices.registry[self.spec.policy.choice].variable_length)

    def preferences(self) -> Preferences | None:
        """The preferences of its people before any of them has answered; None where its cost takes all for alike."""
        return self.cost.preferences()

    @cached_property
    def preference_names(self) -> tuple[str, ...]:
        """The names for the shares of its preferences: features, or kinds of people as the prior numbers them."""
        return self.cost.preference_names([feature.name for feature in self.spec.features])

    @property
    def satisfied(self) -> float:
        """The most that an option may cost a person who is content with it."""
        return SATISFIED if self.spec.policy.satisfied is None else self.spec.policy.satisfied

    @cached_property
    def policy_version(self) -> str:
        """A hash of everything that decides how this program picks, except what it has learned: the choice, its
        revision and parameters, the rest of the policy, and the first model with its instances."""
        return policy_version(self.spec, self.nu, self.bundle.manifest_sha256, len(self.points))

    @cached_property
    def texts(self) -> Texts:
        """The texts that its people read."""
        return Texts(self.spec)

    def changes_to(self, values: Values, person: Array, target: Array) -> tuple[Change, ...]:
        """The changes from a person's raw values, encoded (D,), to an encoded target (D,)."""
        people = person[np.newaxis]
        changed = self.codec.changed_codes(people, self.stated_targets(people, target[np.newaxis]))
        return self.changes(values, changed, 0, 0)

    def stated_targets(self, people: Array, targets: Array) -> Array:
        """Targets (n, D) of people (n, D) without what only follows from what these do."""
        if self.consequences is None:
            return targets
        return np.where(self.consequences.stated_changes(targets, people), targets, people)

    def states_to_hold(self, people: Array, targets: Array) -> Sequence[Array]:
        """The states (n, D) in each of which options must be accepted, of one person (D,) or people (n, D).

        These are the ``targets`` (n, D), and where people differ in what follows also the states in which less does.
        """
        if self.consequences is None or not self.consequences.varies:
            return (targets,)
        return targets, self.space.examined(targets, np.broadcast_to(people, targets.shape)).short

    def follows(self, values: Values, person: Array, target: Array) -> tuple[Change, ...]:
        """The changes that follow from those of a person's raw values, encoded (D,), to an encoded target (D,)."""
        if self.consequences is None:
            return ()
        stated, targets = self.stated_targets(person[np.newaxis], target[np.newaxis]), target[np.newaxis]
        return self.changes(
            values, self.codec.changed_codes(np.where(stated != targets, person, targets), targets), 0, 0
        )

    @cached_property
    def audited(self) -> tuple[int, ...]:
        """The numbers of the features whose groups of people are watched."""
        return tuple(number for number, feature in enumerate(self.spec.features) if feature.audit)

    @cached_property
    def ignores_silence(self) -> bool:
        """Whether a window that closes without an outcome teaches its learner nothing.

        Who has several options may have got them under an earlier spec.
        """
        choice = choices.registry[self.spec.policy.choice]
        several = any(spec.policy.options > 1 for spec in (*self.earlier, self.spec))
        return choice.ignores_zero_reward and not (several and choice.learns)

    @cached_property
    def first_execution_source(self) -> ExecutionSource:
        """Where its execution probabilities come from before outcomes have taught anything.

        Those of programs with rounds follow from difficulties, which nobody has told.
        """
        return "assumed" if self.spec.policy.nu is None or self.closes_rounds else "told"

    def improvement_source(self, bundle: ModelBundle) -> ImprovementSource | UnsetType:
        """Where the probability that an option helps comes from under a model; unset where costs alone count."""
        prior = bundle.improvement
        if self.spec.policy.objective == "cost" or (prior is not None and prior.is_flat):
            return UNSET
        return "score" if prior is None else "labels"

    def load(self, manifest: str, sha256: str | None) -> ModelBundle:
        """A model version that was announced to this program; raise ``ModelError`` when it is refused."""
        return load_bundle(manifest, sha256=sha256, columns=self.codec.columns, codec=self.codec)

    def approves(self, scores: Array) -> NDArray[np.bool_]:
        """A mask of the scores, shape (n,), that the program's own model approves."""
        return np.asarray(accepted(scores, self.spec.model.threshold))

    def changed_codes(self, batch: OptionBatch) -> ChangedCodes | None:
        """The changes of the options of a batch; None where they copy instances, whose raw values are known."""
        if self.generator.copies_instances:
            return None
        people = np.repeat(np.arange(batch.number), batch.last - batch.first)
        return self.codec.changed_codes(
            batch.people[people], self.stated_targets(batch.people[people], batch.points[batch.point])
        )

    def changes(self, values: Values, changed: ChangedCodes | None, index: int, point: int) -> tuple[Change, ...]:
        """The changes from a person's raw values to an option of a batch, in the spec's order.

        ``index`` is that of the option in the batch's arrays, ``point`` the row of its target in the batch's points.
        """
        if changed is None:
            changes = [
                Change(name, current, target, unit)
                for current, (name, target, unit) in zip(values, self._instance_targets[point], strict=True)
                if current != target
            ]
        else:
            features = self.spec.features
            changes = [
                Change(features[number].name, values[number], target, features[number].unit)
                for number, target in self.codec.changed_values(changed, index)
                if values[number] != target
            ]
        return tuple(self._with_absent(changes, values.absent) if isinstance(values, FilledValues) else changes)

    def _with_absent(self, changes: Sequence[Change], absent: frozenset[int]) -> list[Change]:
        """The changes, those marked whose feature the application did not give."""
        names = {self.spec.features[feature].name for feature in absent}
        return [
            msgspec.structs.replace(change, current_given=False) if change.feature in names else change
            for change in changes
        ]

    @cached_property
    def _instance_targets(self) -> list[list[_Target]]:
        """The targets of every instance, one for each feature."""
        features = self.spec.features
        return [[(feature.name, row[feature.name], feature.unit) for feature in features] for row in self.instances]

    @cached_property
    def addresses(self) -> list[tuple[str, bytes]]:
        """The ``ce_source`` and the record key of every shard's outputs."""
        shards = range(self.spec.shards)
        return [(f"onward/{self.name}/{shard}", journal_key(self.name, shard)) for shard in shards]


def _decides_arms(spec: ProgramSpec) -> object:
    """The settings that the arms of a program follow from, beside what its specs have in common."""
    return movable(spec), spec.constraints.max_changes, spec.candidates


def movable(spec: ProgramSpec) -> tuple[bool, ...]:
    """A mask of the features that people may change."""
    return tuple(feature.may_change for feature in spec.features)


def cost_of(codec: FeatureCodec, reference: Sequence[Features]) -> Cost:
    """The cost that the codec's spec names; ``reference`` are raw rows of the population."""
    spec, policy = codec.spec, codec.spec.policy
    kind = costs.registry[policy.cost]
    columns = costs.Columns(codec.feature_of, np.array(movable(spec)))
    if spec.elicitation is not None and spec.elicitation.prior is not None:
        return causal_cost(spec, spec.elicitation, columns)
    population = codec.encode_many(reference) if kind.uses_population else np.empty((0, codec.dimension))
    samples = SAMPLES if policy.samples is None else policy.samples
    # The seed of the policy may change while the program runs, what is learned of its samples stays.
    seed = int.from_bytes(spec.program.encode(), "big")
    return kind.build(columns, population, samples, seed, **policy.cost_parameters)

"""The contract of choices: learners that pick which of a person's options to suggest."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..arrays import Array as Array
from ..arrays import Mask
from ..evidence import EVIDENCE_UNIT as EVIDENCE_UNIT
from ..options import OptionBatch, Options
from ..parameters import Equipped
from ..states import State as State
from ..states import check_state
from .components.min_cost import gains

Random = Callable[[], np.random.Generator]
"""Gives the random generator of a step."""


class Pick(NamedTuple):
    """An arm to suggest, and the probability ``propensity`` with which it is among the picks of this situation.

    ``execution`` is the execution probability that the pull counts with: the option's, or the learner's own estimate.
    ``context`` is what the learner wants to know again when the outcome comes; nobody else reads it.
    """

    arm: int
    propensity: float
    execution: float
    context: bytes = b""

    def __repr__(self) -> str:
        return f"Pick(arm={self.arm}, propensity={self.propensity}, execution={self.execution})"


class Pull(NamedTuple):
    """An earlier pick, as the caller kept it. Step and arm identify it.

    ``step`` is the number of the step from 0, counting steps without options too. ``execution`` and ``context`` are
    those of the pick.
    """

    step: int
    arm: int
    execution: float
    context: bytes = b""


class Seen(NamedTuple):
    """What is seen of a person: whether they carried an option out, and whether it helped. None where nobody knows.

    Where not ``either_way``, nobody would have heard of them if they had not acted: that they did says nothing of how
    probably people do.
    """

    acted: bool | None = None
    helped: bool | None = None
    either_way: bool = True


class LearnedHelp(NamedTuple):
    """How probably an option helps who carries it out, by a learner: the ``probability``, and the standard
    ``deviation`` of its log odds as far as the learner is uncertain.

    What is uncertain of the log odds that it was told comes to this, times ``slope``.
    """

    probability: float
    deviation: float
    slope: float


class FeatureBeliefs(NamedTuple):
    """A learner's beliefs about M features, each (M,).

    ``omega`` is how much less a feature's changes help than expected, 0 as expected and 1 not at all, ``omega_sd`` its
    standard deviation. ``difficulty`` is how many times as hard as assumed the changes are, ``log_difficulty_sd`` the
    standard deviation of its logarithm. ``seen`` is whether any outcome tells something of the feature; the others are
    as before any outcome.
    """

    omega: Array
    omega_sd: Array
    difficulty: Array
    log_difficulty_sd: Array
    seen: Mask


class Choice(Equipped, ABC):
    """Picks among a person's options, one step a person, and learns from the rewards that come later.

    A step picks one option or several. Each pick is a pull of its arm. Of several, the person takes up one at most: the
    caller reports the reward of that one and takes the other pulls back.

    A choice is deterministic: the same calls in the same order, with the same random generators, give the same
    picks and the same state. A parameter is a keyword of the constructor, declared once, as
    ``name: Annotated[float, Interval(...)] = default``.

    ``onward.testing.check_choice`` checks all that is said here. What a choice declares about itself:

    =========================  =========================================================================================
    ``name``, ``learns``       always
    ``per_arm``                where its state has arrays with a row an arm
    ``of_arms_alone``          where its state has arrays that follow from ``points``, such as a hash of them
    ``variable_length``        where its state has arrays that grow; a parameter ``memory`` limits them
    ``fixed_parameters``       where the size or meaning of its state depends on a parameter
    ``additive``               where shards may share what they have learned; without it each learns alone
    ``ignores_zero_reward``    where a reward of 0 changes nothing
    ``needs``                  where it takes the number of ``features``, or what only its own caller gives
    ``reads_outlook``          False where it does not look at the options' outlook
    ``revision``               1; one more with each version that picks otherwise
    =========================  =========================================================================================

    Parameters
    ----------
    points
        The arms, encoded and scaled to [0, 1], shape (K, D); they are fixed for the learner's life (but see ``adopt``).
    window
        Number m of steps in which a reward may arrive.
    """

    name: ClassVar[str]
    """What a program spec's ``policy.choice`` calls it."""

    learns: ClassVar[bool]
    """Whether rewards change what it picks."""

    ignores_zero_reward: ClassVar[bool] = False
    """Whether a reward of 0 changes no later pick, so that the caller may leave it out."""

    by_stages: ClassVar[bool] = False
    """Whether it learns apart whether people act and whether it helps (``learn``), and nothing from silence."""

    reads_outlook: ClassVar[bool] = True
    """Whether its picks depend on the outlook of options, which is left out of recourses of one option where not."""

    revision: ClassVar[int] = 1
    """Increased when a new version of the code picks differently in the same situation."""

    variable_length: ClassVar[frozenset[str]] = frozenset()
    """The arrays of its state whose first axis grows with the steps: they hold rows of single people."""

    per_arm: ClassVar[frozenset[str]] = frozenset()
    """The arrays of its state whose first axis is that of the arms."""

    additive: ClassVar[frozenset[str]] = frozenset()
    """The arrays of its state that are sums of what single outcomes teach, in multiples of ``EVIDENCE_UNIT``: learners
    of one program may share them. Without any it shares nothing."""

    of_arms_alone: ClassVar[frozenset[str]] = frozenset()
    """The arrays of its state that follow from the arms, whatever was learned."""

    fixed_parameters: ClassVar[frozenset[str]] = frozenset()
    """The parameters on which the size or the meaning of its state depends. A learner keeps these for its life."""

    def __init__(self, points: Array, window: int, **parameters: float) -> None:
        if points.ndim != 2:
            raise ValueError(f"points have the shape {points.shape}: give one row an arm, (K, D)")
        if window < 1:
            raise ValueError(f"window is {window}: give a number of steps, 1 or more")
        self.check(parameters)
        self.arms = len(points)
        self.points = points
        self.window = window
        self._given = parameters

    def begin(self, options: Options, random: Random) -> None:
        """Begin a step, in which ``pick`` is called for each option to suggest; there may be no options."""

    @abstractmethod
    def pick(self, options: Options, random: Random) -> Pick:
        """Pick one of F > 0 options, and count the pull.

        A pick is certain, or it is drawn uniformly, given what ``begin`` has drawn. Its propensity is that of this pick
        alone, and of no arm another one in the same situation.
        """

    def choose(self, options: Options, random: Random) -> Pick | None:
        """Take one step: pick one of a person's options, or None when there is none."""
        return next(iter(self.select(options, 1, random)), None)

    def select(
        self, options: Options, max_options: int, random: Random, *, every: bool = False, second_way: bool = False
    ) -> tuple[Pick, ...]:
        """Take one step: pick up to ``max_options`` of a person's options, best first.

        The best is picked, then the best of those that may stand ``beside`` it, or of ``every`` other, and so on. Where
        there are several samples of the cost, it is the one that adds most to those before it
        (``_select_among_samples``). For a ``second_way`` the last place is that of an option without the features that
        all others change, where there is one. ``random`` gives the generator of this step; only a choice that draws
        calls it.
        """
        generator, all_options = _once(random), options
        self.begin(options, generator)
        if options.samples is not None and options.samples.number > 1:
            among = self._select_among_samples(options, max_options, generator, every=every)
            return self._with_second_way(options, among, max_options, generator) if second_way else among
        picks: list[Pick] = []
        while len(options.arm) and len(picks) < max_options:
            picks.append(self.pick(options, generator))
            if len(picks) < max_options:
                arm = picks[-1].arm
                options = options.subset(options.arm != arm) if every else options.compatible_with(arm)
            if second_way and (len(picks) == max_options - 1 or not len(options.arm)):
                apart = all_options.apart_from([pick.arm for pick in picks])
                options = all_options.subset(apart) if apart.any() else options
        return tuple(picks) if len(picks) < 2 else _with_shared_draws(picks)

    def _with_second_way(
        self, options: Options, picks: tuple[Pick, ...], max_options: int, random: Random
    ) -> tuple[Pick, ...]:
        """The picks, the last place given to the best option without the features that all before it change."""
        before = picks[: max_options - 1]
        apart = options.apart_from([pick.arm for pick in before]) if before else np.zeros(0, dtype=bool)
        if not apart.any() or (len(picks) == max_options and apart[options.arm == picks[-1].arm].any()):
            return picks
        return (*before, self.pick(options.subset(apart), random))

    def worth(self, options: Options, random: Random) -> Array:
        """What ``pick`` compares F options by, not negative, (F,); a choice without it takes no sampled costs."""
        raise NotImplementedError(f"{self.name} takes no sampled costs")

    @classmethod
    def takes_samples(cls) -> bool:
        """Whether it can pick where costs are sampled: it says what options are ``worth``."""
        return cls.worth is not Choice.worth

    def _select_among_samples(
        self, options: Options, max_options: int, random: Random, *, every: bool
    ) -> tuple[Pick, ...]:
        """Pick up to ``max_options`` options, each the one that adds most, over the samples of a person.

        An option is worth to a sample what ``pick`` compares it by, in proportion to how probably the sample carries it
        out; a set is worth what its best option is. Of options that add equally, the one that is worth most by itself
        is picked.
        """
        worth = self.worth(options, random)
        values = _in_samples(options, worth)
        order, picks = np.argsort(-worth, kind="stable"), list[Pick]()
        weights, best = np.full(values.shape[1], 1.0 / values.shape[1]), np.zeros(values.shape[1])
        while len(order) and len(picks) < max_options:
            at = order.item(int(gains(-values[order], weights, -best).argmax()))
            picks.append(self.pick(options.only(at), random))
            best = np.maximum(best, values[at])
            beside = options.arm != picks[-1].arm if every else options.is_compatible_with(picks[-1].arm)
            order = order[beside[order]]
        return tuple(picks)

    def select_batch(
        self,
        batch: OptionBatch,
        max_options: int,
        random: Callable[[int], np.random.Generator],
        *,
        second_way: bool = False,
    ) -> list[tuple[Pick, ...]]:
        """Take the steps of n people, one after the other, while nothing is learned: what n calls of ``select`` do.

        ``random`` gives the generator of the i-th person's step.
        """
        return [
            self.select(batch.options_of(i), max_options, partial(random, i), second_way=second_way)
            for i in range(batch.number)
        ]

    def doubt_level(self) -> None:
        """Expect the level of what helps to be further off, before anything is picked: labels are not of everybody."""
        return

    @abstractmethod
    def update(self, pull: Pull, reward: float) -> None:
        """Learn the reward of an earlier pick, in [0, 1], however late and in any order.

        The caller reports each pull once, here or to ``retract``, and only pulls of its own. Few learners keep a list
        of their pulls; for the others a reward is a success of its arm, whatever its step. Rewards of 0 must be
        reported too, unless the choice has ``ignores_zero_reward``.
        """

    @abstractmethod
    def retract(self, pull: Pull) -> None:
        """Take back an earlier pick that its person never saw. The step it took stays counted.

        A pull that it does not know, or has taken back before, changes nothing.
        """

    def learn(self, pulls: Sequence[Pull], seen: Seen, sign: int = 1) -> None:
        """Learn what is seen of a person who tried one of these pulls at most; ``sign`` -1 takes the lesson back.

        Only of a choice that learns ``by_stages``.
        """
        raise NotImplementedError(f"{self.name} does not learn by stages")

    def expected_of(self, pull: Pull, seen: Seen) -> tuple[float, float] | None:
        """The probability that was expected of what is seen, and what it was; None where nothing was expected.

        Only of a choice that learns ``by_stages``.
        """
        raise NotImplementedError(f"{self.name} does not learn by stages")

    @abstractmethod
    def state(self) -> dict[str, NDArray[Any]]:
        """A copy of everything learned. Its size depends on K and m; ``variable_length`` arrays grow with the steps."""

    @abstractmethod
    def restore(self, state: State) -> None:
        """Continue exactly where a learner of the same size and parameters stood.

        Raise ``ValueError`` when the state is not one of such a learner; nothing is changed then.
        """

    def adopt(self, state: State) -> None:
        """Continue where a learner stood whose arms are the first ones of this one's. Of the others nothing is known.

        Its parameters may have been others, except for the ``fixed_parameters``. Raise ``ValueError`` when the state is
        not one of such a learner; nothing is changed then.
        """
        current = self.state()
        adopted = {**state, **{name: current[name] for name in self.of_arms_alone}}
        for name in self.per_arm & state.keys():
            adopted[name] = np.concatenate([state[name], current[name][len(state[name]) :]])
        self.restore(adopted)

    def add(self, evidence: State) -> None:
        """Learn what other learners of the same arms have learned: sums by the names of ``additive``, or some of them.

        Raise ``ValueError`` when they are not sums of such a learner; nothing is changed then.
        """
        if strange := sorted(evidence.keys() - self.additive):
            raise ValueError(f"{self.name} shares no sums called {', '.join(strange)}")
        current = self.state()
        self.restore({**current, **{name: current[name] + sums for name, sums in evidence.items()}})

    def expected_reward(self, pull: Pull) -> float | None:
        """The reward that was expected of a pull at its pick; None where this choice expects none."""
        return None

    @classmethod
    def expected_help(cls, context: bytes) -> float | None:
        """The probability that an option helps who carries it out, as it was expected at the pick of this context.

        None where this choice expects none.
        """
        return None

    def learned_help(self, pick: Pick) -> LearnedHelp | None:
        """The learned probability that an option helps that it picks now; None where it learns nothing."""
        return None

    @property
    def has_learned_execution(self) -> bool:
        """Whether outcomes have taught it execution probabilities: then the ``execution`` of its picks is learned."""
        return False

    @property
    def has_seen_acting(self) -> bool:
        """Whether anybody of whom it would have heard either way was seen to act."""
        return False

    @property
    def beliefs(self) -> FeatureBeliefs | None:
        """Its beliefs about single features; None where it learns nothing of them."""
        return None

    @classmethod
    def beliefs_of(cls, state: State, *, doubts_level: bool = False) -> FeatureBeliefs | None:
        """The same, of a state alone, of a learner that ``doubts_level`` or does not.

        Raise ``ValueError`` when it is not one of such a learner.
        """
        return None

    def check_state(self, state: State) -> None:
        """Raise ``ValueError`` unless a state has finite arrays of the names, shapes and types of this learner's own.

        Arrays of ``variable_length`` may have any length.
        """
        check_state(state, self.state(), self.name, self.variable_length)

    def __repr__(self) -> str:
        numbers = {"arms": self.arms, "window": self.window, **self._given}
        return f"{type(self).__name__}({', '.join(f'{name}={value}' for name, value in numbers.items())})"


class FixedChoice(Choice):
    """A choice that learns nothing from rewards."""

    learns: ClassVar[bool] = False
    ignores_zero_reward: ClassVar[bool] = True

    def update(self, pull: Pull, reward: float) -> None:
        """Learn nothing."""

    def retract(self, pull: Pull) -> None:
        """Take nothing back, since nothing was learned."""

    def state(self) -> dict[str, NDArray[Any]]:
        """Return an empty state."""
        return {}

    def restore(self, state: State) -> None:
        """Restore an empty state; raise ``ValueError`` when it is not empty."""
        self.check_state(state)


def _once(random: Random) -> Random:
    """The same generator at every call, made at the first. ``functools.cache`` costs ten times as much to set up."""
    made: list[np.random.Generator] = []

    def generator() -> np.random.Generator:
        if not made:
            made.append(random())
        return made[0]

    return generator


def _in_samples(options: Options, worth: Array) -> Array:
    """The worth of each option in each sample of the person, (F, S). Its mean over the samples is ``worth`` (F,)."""
    assert options.samples is not None, "only sampled costs have samples"
    execution = options.samples.execution
    mean = execution.mean(axis=1, keepdims=True)
    share: Array = np.divide(execution, mean, out=np.zeros_like(execution), where=mean > 0.0)
    return worth[:, np.newaxis] * share


def _with_shared_draws(picks: Sequence[Pick]) -> tuple[Pick, ...]:
    """The picks with the probability that each is among them: of d options drawn from F, d / F."""
    drawn = [pick.propensity for pick in picks if pick.propensity < 1.0]
    share = len(drawn) * drawn[0] if drawn else 1.0
    return tuple([pick if pick.propensity == 1.0 else pick._replace(propensity=share) for pick in picks])

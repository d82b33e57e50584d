"""What every choice is: the learner that picks, of the feasible candidates, the one to suggest."""

from __future__ import annotations

import inspect
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from typing import Annotated, Any, ClassVar, NamedTuple, get_args, get_origin, get_type_hints

import numpy as np
from numpy.typing import NDArray

from .interval import Interval

State = Mapping[str, NDArray[Any]]
"""Everything a learner has learned: arrays by name, whose shapes never change."""


class Pick(NamedTuple):
    """The candidate to suggest, and the probability with which this choice takes it in this situation."""

    candidate: int
    propensity: float


class Parameter(NamedTuple):
    """A number that a choice can be given: what it is when it is not, and where it may lie."""

    default: float
    interval: Interval


class Choice(ABC):
    """Picks one candidate a step, and learns from the rewards that come back later.

    A choice is deterministic: the same calls in the same order, with the same random generators, give the same
    picks and the same state. A parameter is a keyword of the constructor, declared once, as
    ``name: Annotated[float, Interval(...)] = default``.

    Parameters
    ----------
    candidates
        Number K of candidates; it stays for life.
    window
        Number m of steps that rewards are waited for.
    """

    name: ClassVar[str]
    """What a program spec's ``policy.choice`` calls it."""

    learns: ClassVar[bool]
    """Whether rewards change what it picks."""

    def __init__(self, candidates: int, window: int, **parameters: float) -> None:
        if candidates < 0:
            raise ValueError(f"candidates is {candidates}: give the number of candidates, 0 or more")
        if window < 1:
            raise ValueError(f"window is {window}: give a number of steps, 1 or more")
        self.check(parameters)
        self.candidates = candidates
        self.window = window
        self._given = parameters

    @classmethod
    def parameters(cls) -> dict[str, Parameter]:
        """The parameters this choice takes, by name."""
        hints = get_type_hints(cls.__init__, include_extras=True)
        found: dict[str, Parameter] = {}
        for name, argument in inspect.signature(cls).parameters.items():
            if get_origin(hints.get(name)) is Annotated:
                _, interval = get_args(hints[name])
                found[name] = Parameter(argument.default, interval)
        return found

    @classmethod
    def check(cls, parameters: Mapping[str, float]) -> None:
        """Raise ``ValueError`` when a parameter is not one of this choice's or lies outside its interval."""
        known = cls.parameters()
        for name, value in parameters.items():
            if name not in known:
                names = ", ".join(known) or "none"
                raise ValueError(f"{cls.name} has no parameter {name!r}: it takes {names}")
            if value not in known[name].interval:
                raise ValueError(f"{name} is {value}: {cls.name} needs a number {known[name].interval}")

    @abstractmethod
    def choose(
        self, feasible: NDArray[np.intp], execution: NDArray[np.float64], random: Callable[[], np.random.Generator]
    ) -> Pick | None:
        """Take one step: pick a feasible candidate, or None when there is none.

        Parameters
        ----------
        feasible
            The candidates that this person can become, ascending, shape (F,).
        execution
            Their execution probabilities for this person, shape (F,), in [0, 1].
        random
            Gives the generator of this step; called only by a choice that draws.
        """

    @abstractmethod
    def update(self, candidate: int, execution: float, reward: float) -> None:
        """Learn the reward of an earlier pick, whose execution probability was ``execution``. Any order will do."""

    @abstractmethod
    def forget(self, candidate: int, execution: float) -> None:
        """Take back an earlier pick that its person never saw. The step it took stays counted."""

    @abstractmethod
    def state(self) -> dict[str, NDArray[Any]]:
        """A copy of everything learned. Its size depends on K and m only."""

    @abstractmethod
    def restore(self, state: State) -> None:
        """Continue exactly where a learner of the same size and parameters stood.

        Raises
        ------
        ValueError
            When the state is not one of such a learner; nothing is changed then.
        """

    @abstractmethod
    def merge(self, other: Choice) -> None:
        """Add what another learner of the same size and parameters has learned from other people.

        Raises
        ------
        ValueError
            When the other learner differs in kind, size or parameters; nothing is changed then.
        """

    def check_state(self, state: State) -> None:
        """Raise ``ValueError`` unless a state has the arrays of this learner's own, of the same shapes and types."""
        own = {name: (array.shape, array.dtype) for name, array in self.state().items()}
        given = {name: (array.shape, array.dtype) for name, array in state.items()}
        if given != own:
            raise ValueError(f"the state holds {_sizes(given)}, this {self.name} {_sizes(own)}: it is another's")

    def check_alike(self, other: Choice) -> None:
        """Raise ``ValueError`` unless another learner is of this one's kind, size and parameters."""
        if other._shape() != self._shape():
            raise ValueError(f"{other!r} cannot be merged into {self!r}: they must be alike")

    def _shape(self) -> tuple[object, ...]:
        return type(self), self.candidates, self.window, self._given

    def __repr__(self) -> str:
        numbers = {"candidates": self.candidates, "window": self.window, **self._given}
        return f"{type(self).__name__}({', '.join(f'{name}={value}' for name, value in numbers.items())})"


def _sizes(arrays: Mapping[str, tuple[tuple[int, ...], np.dtype[Any]]]) -> str:
    return ", ".join(f"{name} {dtype}{list(shape)}" for name, (shape, dtype) in arrays.items()) or "nothing"

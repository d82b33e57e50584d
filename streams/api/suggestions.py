"""Suggestions: the answers to the rejected ones among some people, and what stands in the way of the others."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Literal, overload

from msgspec import UNSET

from ...schemas.events import ExecutionSource, NoRecourse, Recourse
from ...schemas.spec import ProgramSpec
from ..advice import MANY_CHANGES, advice, excluded, lasting
from ..errors import UsageError
from ..printable import answer_in_words
from .arguments import checks_arguments
from .people import UNKNOWN, Origin
from .tables import frame_of, html_of

UNKNOWN_EXECUTION = (
    "how likely people carry an option out is unknown; `policy: {nu: NUMBER}` in the spec tells what you know"
)

MOST_RELAXATIONS = 3
"""The relaxations that are told: those that would help most people."""

Answer = Recourse | NoRecourse


class NoAnswerError(UsageError, KeyError):
    """A person has no answer: they are approved, left out, or not among the people."""

    def __init__(self, name: str) -> None:
        super().__init__(f"no answer to a person named {name!r}: they are approved, left out, or not among the people")

    __str__ = Exception.__str__
    """That of ``KeyError`` puts the line into quotation marks."""


class NoPlaceError(UsageError, IndexError):
    """There are fewer answers."""

    def __init__(self, place: object, count: int) -> None:
        super().__init__(f"no answer at place {place}: there {'is' if count == 1 else 'are'} {count}")


class Suggestions(Sequence[Answer]):
    """The answers to rejected people, in the order of the people; who is approved gets none.

    Each is a ``Recourse`` with its options or a ``NoRecourse`` with its reason. ``print`` shows them in words.

    Parameters
    ----------
    answers
        The answers.
    people
        The number of people, the approved ones among them.
    spec
        The program's spec.
    margin
        The margin above the threshold that the program's options reach.
    execution_source
        Where the program's execution probabilities come from.
    problems
        What is wrong with people who were left out, one a line.
    left_out
        Their number.
    accepted
        The share of retrained models that accept such options, None where it was not measured.
    origin
        The data frame that the people came from.
    breaking
        By constraint across features, how many people without a way forward break it as they are.

    Examples
    --------
    >>> import onward
    >>> program = onward.load_program("loans.yaml")
    >>> people = [{"income": 55, "debts": 6, "region": "north"}, {"income": 95, "debts": 0, "region": "south"}]
    >>> suggestions = program.suggest(people)
    >>> len(suggestions), suggestions.people
    (1, 2)
    >>> print(suggestions)  # doctest: +ELLIPSIS
    0: 2 ways forward (one is enough)
      1. raise income from 55 to ... kEUR  (cost ...)
      2. lower debts from 6 to ...  (cost ...)
    >>> suggestions["0"] == suggestions[0], "0" in suggestions, "1" in suggestions
    (True, True, False)
    >>> [len(option.changes) for option in suggestions[0].options]
    [1, 1]
    >>> suggestions.to_dicts()[0]["options"][0]["changes"][0]["feature"]
    'income'
    >>> print(suggestions.summary().splitlines()[0])
    1 of 2 people rejected
    """

    def __init__(
        self,
        answers: Sequence[Answer],
        people: int,
        spec: ProgramSpec,
        margin: float,
        execution_source: ExecutionSource,
        problems: Sequence[str] = (),
        left_out: int = 0,
        accepted: float | None = None,
        origin: Origin = UNKNOWN,
        breaking: Mapping[str, int] | None = None,
    ) -> None:
        self._answers = tuple(answers)
        self._by_name = {answer.application: answer for answer in self._answers}
        self.people = people
        self.problems = tuple(problems)
        self._left_out = left_out
        self._spec, self._margin = spec, margin
        self._execution_source, self._accepted = execution_source, accepted
        self._origin, self._breaking = origin, Counter(breaking)

    @overload
    def __getitem__(self, at: int | str) -> Answer: ...

    @overload
    def __getitem__(self, at: slice) -> tuple[Answer, ...]: ...

    def __getitem__(self, at: int | str | slice) -> Answer | tuple[Answer, ...]:
        """The answer at a place, or to the person of a name.

        Raise ``NoAnswerError``, an ``OnwardError`` and a ``KeyError``, for a name without an answer; for such a place
        an ``OnwardError`` and an ``IndexError``.
        """
        if isinstance(at, str):
            if at not in self._by_name:
                raise NoAnswerError(at)
            return self._by_name[at]
        try:
            return self._answers[at]
        except IndexError:
            raise NoPlaceError(at, len(self._answers)) from None
        except TypeError:
            raise UsageError(f"an answer has a place or a name, not {at!r}") from None

    def __contains__(self, one: object) -> bool:
        """Whether there is such an answer, or one to the person of a name."""
        return one in self._by_name if isinstance(one, str) else one in self._answers

    def __len__(self) -> int:
        """The number of rejected people."""
        return len(self._answers)

    def __str__(self) -> str:
        return "\n\n".join(map(answer_in_words, self._answers))

    def __repr__(self) -> str:
        return f"<Suggestions: {self.summary().splitlines()[0]}>"

    def _repr_html_(self) -> str:
        """A table for notebooks."""
        return html_of(self._answers, self.summary().splitlines())

    def to_dicts(self) -> list[dict[str, Any]]:
        """The answers as the events that a worker publishes."""
        return [answer.to_dict() for answer in self._answers]

    @checks_arguments
    def to_frame(self, library: Literal["pandas", "polars"] | None = None) -> Any:
        """A data frame with a row for each option, and one for each person who has none, with the reason.

        ``to_FEATURE`` is the value to reach, empty where the option does not change the feature. The people are the
        index with pandas, with the labels that they had in the index of their own data frame, or in its column ``id``;
        with polars they are a column. ``library`` is by default that of the people's data frame, else pandas.

        Raise ``OnwardError`` where the library is not installed.
        """
        return frame_of(self._answers, self._spec, self._origin, library)

    def summary(self) -> str:
        """How many are served, what stands in the way of the others, and what to do about it; one fact a line."""
        return "\n".join(self._facts())

    def _facts(self) -> Iterator[str]:
        rejected = len(self._answers)
        yield f"{rejected} of {self.people} {'person' if self.people == 1 else 'people'} rejected"
        if self._left_out:
            yield f"left out, since they do not fit the spec: {self._left_out}"
        if not rejected:
            return
        none = Counter(answer.reason for answer in self._answers if isinstance(answer, NoRecourse))
        reasons = ", ".join(f"{reason}: {count}" for reason, count in none.most_common())
        yield f"without a way forward: {none.total() / rejected:.1%}" + (f" ({reasons})" if reasons else "")
        options = [option for answer in self._answers if isinstance(answer, Recourse) for option in answer.options]
        many = sum(len(option.changes) > MANY_CHANGES for option in options)
        if many:
            yield f"options with more than {MANY_CHANGES} changes: {many / len(options):.1%}"
        yield from excluded(self._breaking, none.total())
        breaking = self._breaking.total() / rejected
        yield from advice(self._spec, self._margin, none.total() / rejected, many / max(len(options), 1), breaking)
        yield from self._relaxations()
        if options:
            yield from lasting(self._spec, self._accepted)
        if options and self._execution_source == "assumed":
            yield UNKNOWN_EXECUTION

    def _relaxations(self) -> Iterator[str]:
        """The advice that would help most people without a way forward."""
        advices = [answer.advice for answer in self._answers if isinstance(answer, NoRecourse)]
        for words, count in Counter(sentence for sentence in advices if sentence is not UNSET).most_common(
            MOST_RELAXATIONS
        ):
            yield f"for {count} without a way forward: {words}"

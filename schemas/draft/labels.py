"""Which value of the label is the desired one: the one that its name and the data agree on, else undecided."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from ..events import Value
from ..number_text import number
from ..spec import UNDECIDED
from ..unlabelled import LINE
from .association import CONTRADICTING, STRONG, trend
from .codes import RANGES_APART, ROUND, codes_of
from .columns import Column, Mask, is_scalable
from .evidence import who_has_more
from .mutable import BETTER_WHEN, may_be_codes, meaning_of_column
from .names import AFFIRMED, AMOUNT_ASKED_FOR, DENIED, meaning_of, outcome_sign
from .questions import DraftDecisions, DraftQuestion
from .yaml_text import number_text, text

MOST_SHOWN = 5
MOST_EVIDENCE = 3
FEWEST_OUTCOMES = 2
"""Values of a label that are outcomes, whatever stands beside them."""


class Votes(NamedTuple):
    """The columns of known direction that go together with a value of the label, and those that speak against it."""

    for_it: tuple[str, ...] = ()
    against: tuple[str, ...] = ()

    @property
    def agree(self) -> bool:
        """Whether some speak for it, and none against."""
        return bool(self.for_it) and not self.against


class LabelCodes(NamedTuple):
    """The values of a label that stand for no outcome; ``doubt`` where nobody has said that they do."""

    values: tuple[Value, ...] = ()
    doubt: str = ""


def label_codes(name: str, cells: Sequence[str], decisions: DraftDecisions) -> LabelCodes:
    """The codes among the cells of a label, (n,). Without an answer its rows are left out: they are no rejections."""
    counts = Counter(map(label_value, cells))
    codes = _apart(list(counts))
    if not codes:
        return LabelCodes()
    listed = ", ".join(f"{_written(code)} ({counts[code]:,} times)" for code in codes)
    seen = f"{listed} apart from {_choices(sorted(counts.keys() - set(codes), key=_order))}"
    answer = decisions.decide(DraftQuestion("not_given", name, seen, (), codes))
    if answer is None:
        return LabelCodes(codes, f"and take from `not_given` what is an outcome: {seen}")
    return LabelCodes(codes if answer else ())


def _apart(values: Sequence[Value]) -> tuple[Value, ...]:
    """Of more than two values those that stand apart from the others: codes, texts among numbers, or one number."""
    if len(values) <= FEWEST_OUTCOMES:
        return ()
    numbers = sorted(value for value in values if not isinstance(value, str))
    texts = sorted(value for value in values if isinstance(value, str))
    amounts = [number for number in numbers if number >= 0]
    if len(amounts) < FEWEST_OUTCOMES:
        return tuple(numbers) if len(texts) >= FEWEST_OUTCOMES else ()
    below = numbers[: -len(amounts)]
    is_apart = below and amounts[0] - below[-1] > amounts[-1] - amounts[0]
    codes = below if len(below) == 1 or len(amounts) == FEWEST_OUTCOMES or is_apart else []
    for index, (low, high) in enumerate(pairwise(amounts), 1):
        is_far = high - low > RANGES_APART * (low - amounts[0])
        if index >= FEWEST_OUTCOMES and is_far and all(code % ROUND for code in amounts[index:]):
            codes = [*codes, *amounts[index:]]
            break
    return (*codes, *texts)


class DraftedLabel:
    """The label of a draft: its ``values``, and the ``desired`` one, None where nobody knows it.

    Its ``codes`` are none of the values. ``masks`` (n,) say which rows have each value, ``is_desired`` (n,) which have
    the desired one. Where it ``reads_others``, rows without a label say what people are like.
    """

    def __init__(
        self,
        name: str,
        cells: Sequence[str],
        columns: Iterable[Column],
        decisions: DraftDecisions,
        codes: LabelCodes,
        *,
        reads_others: bool = False,
    ) -> None:
        values = [label_value(cell) for cell in cells]
        self.name, self.codes, self._reads_others = name, codes, reads_others
        self.values: list[Value] = sorted(set(values), key=_order)
        self.masks = {value: np.array([other == value for other in values]) for value in self.values}
        known = [column.without_codes(codes_of(column)) for column in columns if meaning_of(column.name) is not None]
        named = _named(name, self.values)
        votes = Votes() if named is None else votes_for(self.masks[named], known)
        self.choices = [value for value in self.values if value != UNDECIDED]
        self.seen = _seen(named, votes, [said for column in known if (said := who_has_more(column, self.masks))])
        if UNDECIDED in self.values:
            self.seen += f"; {UNDECIDED!r} cannot be the desired one: call it otherwise in the data"
        question = DraftQuestion("label", name, self.seen, self.choices)
        if codes.doubt:
            decisions.defer(question._replace(seen=self.to_decide()))
            answer = named = None
        else:
            answer = decisions.kept(question) if votes.agree else decisions.decide(question)
        self.is_answered = answer is not None
        self.desired = answer if answer is not None else named if votes.agree else None

    @property
    def is_desired(self) -> Mask | None:
        """The rows with the desired value; None where nobody knows which that is."""
        return None if self.desired is None else self.masks[self.desired]

    @property
    def likely(self) -> list[Mask]:
        """The rows by which a copy of the label is found: those of the desired value, else of each."""
        return list(self.masks.values()) if self.is_desired is None else [self.is_desired]

    def line(self) -> str:
        """The line of YAML. Its comment says what speaks for the value, or what is to be written."""
        if self.desired is None:
            desired, comment = UNDECIDED, self.to_decide()
        else:
            desired = _written(self.desired)
            others = _choices([value for value in self.values if value != self.desired])
            comment = f"not {others}: {'as answered' if self.is_answered else f'a guess, {self.seen}'}"
        codes = f", not_given: [{', '.join(map(_written, self.codes.values))}]" if self.codes.values else ""
        codes += f", {LINE}" if self._reads_others else ""
        return f"label: {{name: {text(self.name)}, desired: {desired}{codes}}}  # {comment}\n"

    def to_decide(self) -> str:
        """What is to be written, and what the name and the data say."""
        doubt = f", {self.codes.doubt}; " if self.codes.doubt else ": "
        return f"write the desired value, {_choices(self.choices)}{doubt}{self.seen}"


def _named(name: str, values: Sequence[Value]) -> Value | None:
    """The only value that the words of the values, or the label's name, call the wanted outcome."""
    signs = {value: outcome_sign(str(value)) for value in values}
    if not any(signs.values()) and (plain := _yes_and_no(values)) is not None:
        of_name = outcome_sign(name)
        signs = {plain[0]: of_name, plain[1]: -of_name}
    wanted = [value for value, sign in signs.items() if sign > 0]
    return wanted[0] if len(wanted) == 1 and all(signs.values()) else None


def _yes_and_no(values: Sequence[Value]) -> tuple[Value, Value] | None:
    """Of two values the one that means yes and the one that means no; None where they mean something else."""
    if len(values) != 2:
        return None
    low, high = values
    if low in (-1, 0) and high == 1:
        return high, low
    pairs = ((low, high), (high, low))
    return next(((yes, no) for yes, no in pairs if _word(yes) in AFFIRMED and _word(no) in DENIED), None)


def votes_for(is_wanted: Mask, columns: Iterable[Column]) -> Votes:
    """What the columns of which the better direction is known say of a value that these rows have."""
    for_it, against = [], []
    for column in columns:
        meaning = meaning_of_column(column)
        if not len(column.ranks) or meaning is None or meaning.unknown or meaning.subject is AMOUNT_ASKED_FOR:
            continue
        if may_be_codes(column, meaning.subject):
            continue
        sign = meaning.subject.sign
        if trend(column, is_wanted, CONTRADICTING) == -sign:
            against.append(column.name)
        elif trend(column, is_wanted, STRONG) == sign:
            for_it.append(f"{BETTER_WHEN[sign]} {column.name}")
    return Votes(tuple(for_it), tuple(against))


def _seen(named: Value | None, votes: Votes, said: Sequence[str]) -> str:
    """What the name and the data say, in words."""
    if named is None:
        return "its name does not say it; " + (", ".join(said[:MOST_EVIDENCE]) or "nor do the data")
    by_name = f"by its name {named!r}"
    if votes.against:
        return f"{by_name}, but not by {', '.join(votes.against[:MOST_EVIDENCE])}"
    if votes.for_it:
        return f"{by_name}, as by {', '.join(votes.for_it[:MOST_EVIDENCE])}"
    unsure = f"{by_name}; no column of known direction clearly confirms it"
    return "; ".join([unsure, *said[:MOST_EVIDENCE]])


def _choices(values: Sequence[Value]) -> str:
    shown = [_written(value) for value in values[:MOST_SHOWN]]
    if len(values) == 2:
        return " or ".join(shown)
    return ", ".join(shown) + (", ..." if len(values) > MOST_SHOWN else "")


def _written(value: Value) -> str:
    """A value as YAML reads it back, in comments too."""
    if isinstance(value, str):
        return text(value) if value.isprintable() else json.dumps(value)
    return number_text(value)


def _word(value: Value) -> str:
    return str(value).lower()


def _order(value: Value) -> tuple[bool, Value]:
    return isinstance(value, str), value


def label_value(cell: str) -> Value:
    """The value of a cell of a label."""
    value = number(cell)
    return value if isinstance(value, str) or is_scalable(value) else cell

"""What an applicant may read, held against the rules of such texts."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from datetime import date

from onward.schemas.events import APPLY_AGAIN, Change, Value
from onward.schemas.spec import Feature, ProgramSpec
from onward.schemas.words.names import readable
from onward.schemas.words.texts import SENTENCES, NoWay, Texts

MOST_WORDS = 15
FORBIDDEN = re.compile(
    r"%|at least|at most|mindestens|höchstens|score|threshold|probab|option|feature|wahrscheinlichkeit|schwelle", re.I
)
"""Beside "probably", which a reason is told with."""
ALLOWED = ("probably", "wahrscheinlich ")
END = re.compile(r"(?<=[.?!])\s")


def faults(spec: ProgramSpec, texts: Iterable[str]) -> Iterator[str]:
    """Every rule that a text breaks: it names no column, score, probability or share, and its sentences are short."""
    # A column that is called by a plain word, such as savings, cannot be told from the word.
    columns = [feature.name for feature in spec.features if readable(feature.name).lower() != feature.name.lower()]
    for text in texts:
        plain = text
        for word in ALLOWED:
            plain = plain.replace(word, "")
        if found := FORBIDDEN.search(plain):
            yield f"{found.group()!r} in {text!r}"
        yield from (f"the column {name} in {text!r}" for name in columns if name in text)
        yield from (f"{len(one.split())} words in {one!r}" for one in END.split(text) if len(one.split()) > MOST_WORDS)


def all_texts(spec: ProgramSpec) -> Iterator[str]:
    """What people may read of a program: each feature's changes, all of them at once, in steps; and each reason."""
    texts = Texts(spec)
    changes = [change for feature in spec.features if feature.mutable != "none" for change in changes_of(feature)]
    told = [texts.option([change]) for change in changes]
    told += [texts.option(changes), texts.option(changes, changes)]
    reasons = [*SENTENCES, APPLY_AGAIN, "max_change", "a reason of a method of their own"]
    for reason in reasons:
        for why in (NoWay(reason, changes, date(2026, 11, 30), is_round=True), NoWay(reason)):
            detail, by_language = texts.none(why)
            yield detail
            told.append(by_language)
    for by_language in told:
        yield from (by_language or {}).values()


def changes_of(feature: Feature) -> Iterator[Change]:
    """Changes of a feature: in each direction that it may take, with an end, and where its value was not given."""
    if feature.bounds is not None:
        low, high = feature.bounds
        middle = (low + high) // 2
        both: list[tuple[Value, Value, Value]] = [(low, middle, high), (high, middle, low)]
        ways = both[:1] if feature.mutable == "up" else both[1:] if feature.mutable == "down" else both
    else:
        first, *_, last = feature.values
        ways = [(first, last, last), (last, first, first)]
    for now, target, end in ways:
        yield Change(feature.name, now, target, feature.unit)
        yield Change(feature.name, now, target, feature.unit, at_most=end)
        yield Change(feature.name, now, target, feature.unit, current_given=False)

"""The form of a words file, ``TAG.yaml``: what a program's organisation says of it in one language.

organisation: {name: Example Savings Bank, contact: Phone 01234 555 100.}
program: {name: Personal loan, applied: your loan application}
features:
  savings:
    name: Your savings
    up: save more
    value: {money: EUR}
"""

from __future__ import annotations

from typing import Annotated

from msgspec import UNSET, Meta, Struct, UnsetType

LanguageTag = Annotated[str, Meta(pattern=r"^[a-z]{2,3}(-[A-Za-z0-9]{2,8}){0,3}$")]
"""A BCP 47 tag, such as en, en-GB, ar, zh-Hant."""
Phrase = Annotated[str, Meta(min_length=1, max_length=120)]
"""A part of a sentence."""
Sentence = Annotated[str, Meta(min_length=1, max_length=500)]
"""A sentence or more."""
Forms = Phrase | dict[str, Phrase]
"""A phrase, or one for each plural form of a number, by its CLDR name, as in ``{one: .., other: ..}``."""
Sentences = dict[str, Sentence | dict[str, Sentence]]
"""Sentences by their names; where ours has plural forms of a number, also by form."""


class Organisation(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """Who speaks: its name, how to reach it, and the addresses where people ask and apply."""

    name: Phrase | UnsetType = UNSET
    contact: Sentence | UnsetType = UNSET
    ask: Sentence | UnsetType = UNSET
    apply: Sentence | UnsetType = UNSET


class ProgramWords(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """What the program is called, and what people have applied with, as in "we said no to {applied}"."""

    name: Phrase | UnsetType = UNSET
    applied: Phrase | UnsetType = UNSET


class ValueKind(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """How a number is written: as an amount of ``money`` (ISO 4217), with a CLDR ``unit``, as a share of 100
    (``percent``), or in a ``text`` around ``{number}``. It is multiplied by ``times`` before."""

    money: Annotated[str, Meta(pattern="^[A-Z]{3}$")] | UnsetType = UNSET
    unit: Phrase | UnsetType = UNSET
    percent: bool = False
    text: Forms | UnsetType = UNSET
    times: Annotated[float, Meta(gt=0)] = 1.0


class FeatureWords(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """A feature: its name, what people do who raise it (``up``), lower it (``down``) or change it (``to``), how its
    numbers are written or what its ``values`` are called, and what counts."""

    name: Phrase
    up: Phrase | UnsetType = UNSET
    down: Phrase | UnsetType = UNSET
    to: Phrase | UnsetType = UNSET
    value: ValueKind | UnsetType = UNSET
    values: dict[str, Phrase] | UnsetType = UNSET
    counts: Sentence | UnsetType = UNSET


class LanguageWords(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """All words of a program in one language. Its ``sentences`` stand for Onward's own of the same names."""

    features: dict[str, FeatureWords]
    organisation: Organisation = Organisation()
    program: ProgramWords = ProgramWords()
    sentences: Sentences = {}

"""Answers in the words of their program: the one place where sentences for people are made.

    texts = Texts(spec)
    texts.option(changes)      # {"de": "Mehr sparen: von 300 € auf 1.200 €.", "en": "Save more: from €300 to €1,200."}
    texts.none(NoWay("out_of_reach"))

A text names no column, no score and no probability.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import date, datetime, timedelta
from typing import Any, Final, NamedTuple

from msgspec import UNSET, UnsetType
from msgspec.structs import replace

from ..events import APPLY_AGAIN, Change, Value
from ..spec import Feature, ProgramSpec
from .form import FeatureWords, LanguageWords, Organisation, ValueKind
from .languages import ENGLISH, first_language
from .names import capitalised, readable, readable_category
from .numbers import date_format, enumeration, locale_of, number_format, said
from .sentences import sentences_of

DAY: Final = timedelta(days=1)
ByLanguage = dict[str, str]
"""A text in each language of a program, by its tag."""

FOLLOWS = "follows.line"
APPLIED_TWICE = "applied_twice"
NO_SCORE = "no_score"
SENTENCES: Mapping[str, str] = {
    "out_of_reach": "none.out_of_reach",
    "would_not_help": "none.would_not_help",
    "no_allowed_change": "none.no_allowed_change",
    "immutable": "none.no_allowed_change",
    NO_SCORE: "none.no_score",
    APPLIED_TWICE: "none.applied_twice",
}
"""What people read of a reason why they get no option; of any other one ``none.other``."""
COME_AGAIN = frozenset({APPLY_AGAIN, APPLIED_TWICE})
"""Reasons that say all that there is to do."""


class NoWay(NamedTuple):
    """Why somebody gets no option.

    ``nearest`` are the changes that came nearest. ``until`` is the last whole day, of UTC, on which somebody may apply
    again as they are, and ``since`` the first one with places, where there are none now. ``is_round`` says that the
    score to reach is one of rounds to come.
    """

    reason: str
    nearest: Sequence[Change] = ()
    until: date | None = None
    is_round: bool = False
    since: date | None = None

    @classmethod
    def from_terms(cls, reason: str, terms: Mapping[str, Any], nearest: Sequence[Change] = ()) -> NoWay:
        """From the fields of a ``NoRecourse`` that say when somebody may come again; absent where it has none."""
        is_pause = terms.get("round", 0) + 1 in terms.get("rounds_without_places", ())
        begins, ends = _time(terms.get("valid_from")), _time(terms.get("expires_at"))
        since = None if begins is None or not is_pause else (begins + DAY - timedelta.resolution).date()
        # A round may end in the middle of a day, or as it begins: then that day is too late.
        until = None if ends is None else (ends - DAY).date()
        if until is not None and begins is not None and until < begins.date():
            until = None
        return cls(reason, nearest, until, "target_score" in terms, since)


def _time(text: str | None) -> datetime | None:
    return None if text is None else datetime.fromisoformat(text)


class Texts:
    """The texts of a program's answers, in every language of its words.

    Without words there is one text, of ``none``: in English, with the names of features made readable.
    """

    def __init__(self, spec: ProgramSpec) -> None:
        assert not isinstance(spec.words, str), "the words have been read"
        self._spec = spec
        self._languages = {tag: LanguageTexts(tag, words, spec) for tag, words in sorted((spec.words or {}).items())}
        self._first = first_language(self._languages) if self._languages else None

    def __reduce__(self) -> tuple[type[Texts], tuple[ProgramSpec]]:
        return Texts, (self._spec,)

    def option(
        self,
        changes: Sequence[Change],
        steps: Sequence[Change] | UnsetType = UNSET,
        follows: Sequence[Change] | UnsetType = UNSET,
    ) -> ByLanguage | UnsetType:
        """What to do, by language: the steps where there are some, else the changes; and what then follows; nothing
        without words."""
        if not self._languages:
            return UNSET
        return {tag: language.option(changes, steps, follows or ()) for tag, language in self._languages.items()}

    def none(self, why: NoWay) -> tuple[str, ByLanguage | UnsetType]:
        """Why somebody has no option, and what they could do: in the first language, and in each; without words in
        English alone."""
        if self._first is None:
            return LanguageTexts(ENGLISH, guessed(self._spec), self._spec).none(why, is_spoken_for=False), UNSET
        texts = {tag: words.none(why, is_spoken_for=words.is_spoken_for) for tag, words in self._languages.items()}
        return texts[self._first], texts


def guessed(spec: ProgramSpec) -> LanguageWords:
    """English words of a program about which nobody has said anything: its features' names made readable."""
    return LanguageWords({feature.name: guessed_feature(feature) for feature in spec.features if feature.may_change})


def guessed_feature(feature: Feature) -> FeatureWords:
    """The words that a feature's name, direction, unit and values suggest."""
    name = readable(feature.name)
    words = FeatureWords(
        capitalised(name),
        up=f"raise {name}" if feature.mutable in ("up", "any") and not feature.categories else UNSET,
        down=f"lower {name}" if feature.mutable in ("down", "any") and not feature.categories else UNSET,
        to=f"change {name}" if feature.mutable == "any" and feature.categories else UNSET,
    )
    if feature.values:
        return replace(words, values={value: readable_category(value) for value in feature.values})
    if not feature.unit:
        return words
    unit = feature.unit.replace("{", "{{").replace("}", "}}")
    return replace(words, value=ValueKind(text=f"{{number}} {unit}"))


class ToldChange(NamedTuple):
    """A change as a page shows it: the feature's name, the person's own value where they gave it, the one to reach,
    and sentences that go with it."""

    name: str
    now: str | None
    to: str
    notes: Sequence[str]


class LanguageTexts:
    """The texts of one language."""

    def __init__(self, tag: str, words: LanguageWords, spec: ProgramSpec) -> None:
        self._sentences = sentences_of(tag, words.sentences)
        self._words, self._locale = words.features, locale_of(tag)
        named = words.organisation != Organisation()
        self.is_spoken_for = named or bool({"none.person", "none.wrong"} & words.sentences.keys())
        self._features = {feature.name: feature for feature in spec.features}
        percent = self._sentences["value.percent"]
        self._numbers = {
            name: number_format(self._locale, feature_words.value or ValueKind(), percent)
            for name, feature_words in words.features.items()
        }

    def option(self, changes: Sequence[Change], steps: Sequence[Change] | UnsetType, follows: Sequence[Change]) -> str:
        """What to do: one sentence or more of each change, of steps in their order; and one of each that follows."""
        sentences = map(self.followed, (change for change in follows if change.feature in self._words))
        return " ".join([self._actions(changes, steps), *sentences])

    def heading(self, changes: Sequence[Change]) -> str:
        """What to do, without figures, as in "Earn more and owe less on your cards"."""
        return capitalised(enumeration(self._locale, [self._verb(change) for change in changes]))

    def told(self, change: Change) -> ToldChange:
        """A change in parts."""
        words = self._words[change.feature]
        now, value = self._values(change)
        notes = [] if now is not None else [self._sentences["change.not_given"]]
        if change.at_most is not UNSET:
            notes.append(self._ends(change, change.at_most))
        if words.counts:
            notes.append(words.counts)
        return ToldChange(words.name, now, value, notes)

    def _actions(self, changes: Sequence[Change], steps: Sequence[Change] | UnsetType) -> str:
        if not steps or len(steps) == 1:
            return " ".join(map(self._line, changes))
        step = self._sentences["way.step"]
        ordered = (step.format(number=at, line=self._line(change)) for at, change in enumerate(steps, 1))
        return " ".join([self._sentences["way.steps"], *ordered])

    def none(self, why: NoWay, *, is_spoken_for: bool) -> str:
        """Why there is no option, what came nearest, and what to do; what an organisation's people do only where
        somebody has given the words for it."""
        return " ".join(self._sentences[key].format(**given) for key, given in self._why(why, is_spoken_for))

    def _why(self, why: NoWay, is_spoken_for: bool) -> Sequence[tuple[str, Mapping[str, str]]]:
        day = date_format(self._locale)
        sentences: list[tuple[str, Mapping[str, str]]]
        if why.reason == APPLY_AGAIN:
            by = {} if why.until is None else {"date": day(why.until)}
            sentences = [("none.apply_again" if by else "none.apply_again_open", by)]
            return sentences if why.since is None else [*sentences, ("none.pause", {"date": day(why.since)})]
        sentences = [(SENTENCES.get(why.reason, "none.other"), {})]
        if why.reason in COME_AGAIN:
            return sentences
        if why.is_round:
            sentences.append(("none.round", {}))
        if why.nearest:
            verb = self._sentences["none.verb"]
            verbs = " ".join(verb.format(verb=capitalised(self._verb(change))) for change in why.nearest)
            sentences.append(("none.nearest", {"verbs": verbs}))
        if why.reason != NO_SCORE:
            sentences.append(("none.later", {}))
        return [*sentences, ("none.person", {}), ("none.wrong", {})] if is_spoken_for else sentences

    def _line(self, change: Change) -> str:
        """A change in sentences: what to do, from where to where, and where its end is."""
        sentences, (now, value) = self._sentences, self._values(change)
        verb = self._given_verb(change) or self._words[change.feature].name
        if now is not None:
            move = sentences["change.from_to"].format(now=now, to=value)
        else:
            move = sentences["change.to"].format(to=value)
        line = sentences["change.line"].format(verb=capitalised(verb), move=move)
        if now is None:
            line = f"{line} {sentences['change.not_given']}"
        return line if change.at_most is UNSET else f"{line} {self._ends(change, change.at_most)}"

    def _values(self, change: Change) -> tuple[str | None, str]:
        """A person's own value, None where they did not give it, and the one to reach."""
        now, to = change.current, change.target
        value = self.value(change.feature, to)
        if change.current_given is False:
            return None, value
        if not isinstance(now, str) and not isinstance(to, str):
            now = said(now, to)
        return self.value(change.feature, now), value

    def _ends(self, change: Change, most: Value) -> str:
        """Beyond which value the option may be rejected."""
        return self._sentences[self._end(change)].format(end=self.value(change.feature, most))

    def followed(self, change: Change) -> str:
        """What follows from changes, in a sentence."""
        now, to = change.current, change.target
        if not isinstance(now, str) and not isinstance(to, str):
            now, to = said(now, to), said(to, now)
        move = self._sentences["change.from_to"].format(
            now=self.value(change.feature, now), to=self.value(change.feature, to)
        )
        if change.current_given is False:
            move = self._sentences["change.to"].format(to=self.value(change.feature, to))
        return self._sentences[FOLLOWS].format(name=self._words[change.feature].name, move=move)

    def times(self, name: str) -> float:
        """By how much the numbers of a feature are larger, as people read them."""
        words = self._words.get(name)
        return words.value.times if words and words.value else 1.0

    def name_and_value(self, name: str, value: Value) -> tuple[str, str]:
        """A feature and a value of it, also of one that has no words: its name is made readable."""
        if name in self._words:
            return self._words[name].name, self.value(name, value)
        return readable(name), readable_category(value) if isinstance(value, str) else f"{value:,.10g}"

    def _end(self, change: Change) -> str:
        if isinstance(change.target, str):
            return "change.end_level"
        return "change.end_up" if self._is_rise(change) else "change.end_down"

    def _is_rise(self, change: Change) -> bool | None:
        """Whether a change leads upwards; None where its values have no order."""
        levels = self._features[change.feature].levels
        if levels is not None:
            return levels.index(str(change.target)) > levels.index(str(change.current))
        if isinstance(change.target, str) or isinstance(change.current, str):
            return None
        return change.target > change.current

    def _given_verb(self, change: Change) -> str | UnsetType:
        own, is_rise = self._words[change.feature], self._is_rise(change)
        return own.to if is_rise is None else (own.up if is_rise else own.down) or own.to

    def _verb(self, change: Change) -> str:
        """What to do, without how far."""
        if verb := self._given_verb(change):
            return verb
        key = {None: "verb.change", True: "verb.up", False: "verb.down"}[self._is_rise(change)]
        name = self._words[change.feature].name
        return self._sentences[key].format(name=name)

    def value(self, name: str, value: Value) -> str:
        """A value of a feature as the language writes it."""
        if isinstance(value, str):
            return (self._words[name].values or {}).get(value) or readable_category(value)
        return self._numbers[name](value)

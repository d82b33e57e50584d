"""By feature, how many options change it and by how much; and what three people would read."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from typing import TypeVar

import numpy as np
from msgspec.structs import replace

from ...schemas.events import NoRecourse, Option, Recourse
from ...schemas.spec import Feature
from ...schemas.words.languages import ENGLISH, first_language
from ...schemas.words.texts import LanguageTexts, Texts, guessed
from .evidence import Evidence, ReviewedChange
from .report import Example, FeatureUse

EXAMPLES = 3
Answer = TypeVar("Answer", Recourse, NoRecourse)


def uses(evidence: Evidence) -> Iterator[FeatureUse]:
    """The features that options change, the most frequent first."""
    options = defaultdict[str, list[Option]](list)
    for person, option in evidence.told_options:
        options[person].append(option)
    ways = Counter(
        feature
        for ways_of_person in options.values()
        for feature in set.intersection(*({change.feature for change in option.changes} for option in ways_of_person))
    )
    features = {feature.name: feature for feature in evidence.spec.features}
    for name, changes in sorted(evidence.changes.items(), key=lambda item: -len(item[1])):
        yield _use(features[name], changes, ways[name])


def _use(feature: Feature, changes: Sequence[ReviewedChange], only: int) -> FeatureUse:
    told = len({change.person for change in changes})
    if feature.type == "categorical":
        moves = Counter((change.change.current, change.change.target) for change in changes)
        [((now, to), _)] = moves.most_common(1)
        return FeatureUse(feature.name, len(changes), told, only, example=f"{now} -> {to}")
    distances = [change.distance(feature) for change in changes]
    median, most = float(np.median(distances)), max(distances, key=abs)
    up, down = sum(distance > 0 for distance in distances), sum(distance < 0 for distance in distances)
    return FeatureUse(feature.name, len(changes), told, only, median, most, feature.unit, up=up, down=down)


def examples(evidence: Evidence) -> Iterator[Example]:
    """What a few people would read, in the first language of the program's words; one of them has no option, if any.

    A program without words is spoken for by its features' names, made readable.
    """
    spec = evidence.spec
    if not spec.words or isinstance(spec.words, str):
        spec = replace(spec, words={ENGLISH: guessed(spec)})
        assert not isinstance(spec.words, str), "they have just been made"
    texts, language = Texts(spec), first_language(spec.words or {})
    served = [answer for answer in evidence.answers if isinstance(answer, Recourse)]
    none = _spread(evidence.no_recourses, 1 if served else EXAMPLES)
    chosen: list[Recourse | NoRecourse] = [*_spread(served, EXAMPLES - len(none)), *none]
    names = LanguageTexts(language, (spec.words or {})[language], spec)
    shown = [feature.name for feature in spec.features if not feature.pii]
    for answer in chosen:
        person = evidence.people[answer.application]
        told = [names.name_and_value(name, value) for name in shown if (value := person.get(name)) is not None]
        yield replace(_example(answer, texts, language), features=tuple(told))


def _spread(answers: Sequence[Answer], most: int) -> list[Answer]:
    """At most so many of the answers, evenly spread."""
    places = np.linspace(0, len(answers) - 1, min(most, len(answers))).round().astype(int)
    return [answers[place] for place in places.tolist()]


def _example(answer: Recourse | NoRecourse, texts: Texts, language: str) -> Example:
    if isinstance(answer, NoRecourse):
        text = answer.text[language] if answer.text and language in answer.text else answer.detail
        return Example(answer.application, (text,), is_none=True)
    texts_of_options = (texts.option(option.changes, option.steps, option.follows) or {} for option in answer.options)
    return Example(answer.application, tuple([by_language[language] for by_language in texts_of_options]))

"""What a draft says of consequences: the features that are computed, and which measures may follow others.

Measures of one thing, such as the mean income of 3, 6 and 12 months, move together: whoever changes one changes all of
them. The data show only that they go together. Which one people change, and whether the others follow, somebody says.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from ..computed import expression
from .columns import Floats
from .derived import Follows
from .mutable import Direction
from .names import words_of
from .questions import DraftDecisions, DraftQuestion
from .relations import FEWEST_ROWS, FEWEST_VALUES
from .yaml_text import flow_list, text

TOGETHER = 0.8
"""The correlation from which two measures may be of one thing."""
FEWEST_LETTERS = 3
"""Of a word that two names share."""
MOST_ROWS = 5_000
NOBODY = "none"
"""The answer that none follows."""
_SEPARATORS = re.compile(r"[\W\d_]+")
PROPOSED = """\
# effects:  # these go together: if the others follow when people change the first, take the marks out, and write
#           # `mutable: follows` for each other that nobody changes by itself. Until then each stays as it is when
#           # another changes; with them training fits how far it follows, and options count it.
"""


class Star(NamedTuple):
    """Measures that go together: that which the ``others`` are proposed to follow, and the least correlation with it.

    ``is_said`` where somebody said that they follow; ``closed`` are others whose names say that nothing changes them.
    """

    parent: str
    others: tuple[str, ...]
    least: float
    is_said: bool = False
    closed: frozenset[str] = frozenset()


@dataclass(frozen=True)
class DraftedEffects:
    """The stars of a draft that somebody has said, and those that nobody has decided."""

    stars: Sequence[Star]

    def lines(self) -> str:
        """The effects of the spec, and as comments what nobody has said; nothing where no features go together."""
        said = [line for star in self.stars if star.is_said for line in _said(star)]
        proposed = "".join(_proposed(star) for star in self.stars if not star.is_said)
        has_said = any(not line.startswith("#") for line in said)
        head = "effects:  # as answered: when people change the first, the second follows\n" if has_said else ""
        return head + "".join(said) + (f"{PROPOSED}{proposed}" if proposed else "")

    def followed(self) -> Iterator[tuple[str, str]]:
        """Each feature that follows another, as somebody said, and that other."""
        for star in self.stars:
            if star.is_said:
                yield from ((other, star.parent) for other in star.others if other not in star.closed)

    def to_decide(self) -> Iterator[str]:
        """A line for each star that nobody has decided."""
        for star in self.stars:
            if not star.is_said:
                names = ", ".join((star.parent, *star.others))
                yield f"{names} go together: does one follow when people change another? See `effects` in the draft"


def computed_lines(computed: Mapping[str, Follows], rows: int) -> str:
    """The computed features of the spec; nothing where there are none."""
    if not computed:
        return ""
    head = f"computed:  # found in all {rows} rows: each follows its parts; delete what is chance, and its feature\n"
    return head + "".join(f"  {text(name)}: {json.dumps(_formula(how))}\n" for name, how in computed.items())


def _formula(how: Follows) -> str:
    made = expression(how.formula)
    assert set(made.names) == set(how.parts), "a name is written as it is read"
    return made.text


def drafted_effects(
    numbers: Mapping[str, Floats], directions: Mapping[str, Direction], decisions: DraftDecisions
) -> DraftedEffects:
    """The effects of a draft, as somebody says, of the numbers (n,) of its features that follow from no others."""
    names = [name for name, values in numbers.items() if len(np.unique(values)) >= FEWEST_VALUES and name != NOBODY]
    names = [name for name in names if not directions[name].is_personal]
    if len(names) < 2 or len(numbers[names[0]]) < FEWEST_ROWS:
        return DraftedEffects(())
    stars = (_as_answered(star, directions, decisions) for star in _stars(names, numbers, directions))
    return DraftedEffects([star for star in stars if star is not None])


def _as_answered(star: Star, directions: Mapping[str, Direction], decisions: DraftDecisions) -> Star | None:
    """A star as somebody says it; None where they say that none follows, or that nobody can change any of them."""
    members = [name for name in directions if name in (star.parent, *star.others)]
    if not any(directions[name].may_open for name in members):
        return None
    seen = f"they go together (correlation with {star.parent} {star.least:.2f} or more)"
    question = DraftQuestion("effects", members[0], f"{', '.join(members)}: {seen}", (*members, NOBODY))
    is_open = any(directions[name].mutable != "none" for name in members)
    answer = decisions.decide(question) if is_open else decisions.kept(question)
    closed = frozenset(name for name in members if not directions[name].may_follow)
    if answer is None:
        return star._replace(closed=closed - {star.parent})
    if answer == NOBODY:
        return None
    others = tuple([name for name in members if name != answer])
    return Star(str(answer), others, star.least, is_said=True, closed=closed - {str(answer)})


def _stars(names: Sequence[str], numbers: Mapping[str, Floats], directions: Mapping[str, Direction]) -> Iterator[Star]:
    """The groups of measures of one thing, each with the one that the others may follow.

    It is one that people can change, where there is one: of these the most correlated with the mean of the group, which
    says most of the thing itself. The label does not choose it: it is often not decided yet, and least is known of it.
    """
    standard = np.array([_standard(numbers[name]) for name in names])
    correlation = standard @ standard.T / standard.shape[1]
    near = (np.abs(correlation) >= TOGETHER) & _share_words(names)
    left = set(range(len(names)))
    while left:
        group = _component(min(left), near, left)
        if len(group) == 1:
            left -= set(group)
            continue
        parent = _centre(group, names, correlation, directions)
        others = [member for member in group if member != parent and near[parent, member]]
        least = float(np.abs(correlation[parent, others]).min())
        yield Star(names[parent], tuple([names[member] for member in others]), least)
        left -= {parent, *others}


def _centre(
    group: Sequence[int], names: Sequence[str], correlation: Floats, directions: Mapping[str, Direction]
) -> int:
    def rank(member: int) -> tuple[bool, bool, float, int]:
        guess = directions[names[member]]
        mean = float(np.abs(correlation[member, group]).mean())
        return guess.mutable == "none", not guess.may_open, -round(mean, 9), member

    return min(group, key=rank)


def _component(start: int, near: np.ndarray, left: set[int]) -> list[int]:
    """All of those ``left`` that pairs lead to from one of them, in their order."""
    found, new = {start}, {start}
    while new:
        new = {int(other) for member in new for other in np.flatnonzero(near[member])} & left - found
        found |= new
    return sorted(found)


def _standard(values: Floats) -> Floats:
    thinned = values[:: -(-len(values) // MOST_ROWS)]
    sd = thinned.std()
    return (thinned - thinned.mean()) / sd if sd > 0 else np.zeros(len(thinned))


def _share_words(names: Sequence[str]) -> np.ndarray:
    """Which pairs of names have a word in common, such as what they measure or its unit, (k, k)."""
    words = [_words(name) for name in names]
    place_of = {word: place for place, word in enumerate(sorted(frozenset[str]().union(*words)))}
    has = np.zeros((len(names), len(place_of)))
    for number, in_name in enumerate(words):
        has[number, [place_of[word] for word in in_name]] = 1.0
    return np.asarray(has @ has.T > 0)


def _words(name: str) -> frozenset[str]:
    found = words_of(name) | set(_SEPARATORS.split(name.lower()))
    return frozenset(word for word in found if len(word) >= FEWEST_LETTERS)


def _said(star: Star) -> Iterable[str]:
    for other in star.others:
        if other in star.closed:
            yield f"# {_edge(star, other)} needs `mutable: follows` of {other} first: nothing changes it as drafted\n"
        else:
            yield f"  - {_edge(star, other)}\n"


def _proposed(star: Star) -> str:
    lines = [f"#  - {_edge(star, other)}" for other in star.others]
    lines[0] += f"  # correlation {star.least:.2f} or more"
    if star.closed:
        lines[-1] += f"  # {', '.join(sorted(star.closed))}: write `mutable: follows` first, if it is so"
    return "".join(f"{line}\n" for line in lines)


def _edge(star: Star, other: str) -> str:
    return flow_list((star.parent, other))

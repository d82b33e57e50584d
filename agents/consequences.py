"""What follows from what people do: features that move when others are moved.

A person who changes some features keeps what is their own of every other one (abduction); the change is carried through
(action); and what follows from it is added (prediction). So the state after a change tells what was done, and the other
way round.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from .arrays import Array, Indices, Mask
from .compiled import compiled
from .rounding import ROUNDING

Formula = Callable[[Sequence[Array]], Array]
"""The raw values (n,) of a feature from those of its parents, (n,) each; NaN where it has none."""


class EncodedStrata(NamedTuple):
    """S groups of people with slopes of their own: those whose encoded ``columns`` (c,) are one of the ``rows`` (S, c).

    ``slopes`` and ``deviations`` (S, p) are those of a link's parents.
    """

    columns: Indices
    rows: Array
    slopes: Array
    deviations: Array

    def groups_of(self, people: Array) -> Indices:
        """The group of each of R people, (R,) from (R, D); S for nobody's."""
        found = (people[:, np.newaxis, self.columns] == self.rows).all(axis=2)
        return np.asarray(np.where(found.any(axis=1), found.argmax(axis=1), len(self.rows)))


class Link(NamedTuple):
    """How the feature ``child`` follows its ``parents`` (p,), all of them numbers of features.

    It moves by ``slopes`` (p,), raw, for one unit of each parent, with the standard ``deviations`` (p,) between people,
    and not beyond the lowest and highest raw value at which it ``stops``. The people of ``strata`` have slopes and
    deviations of their own. One that is computed has a ``formula`` of its parents instead.
    """

    child: int
    parents: Sequence[int]
    slopes: Sequence[float] = ()
    deviations: Sequence[float] = ()
    formula: Formula | None = None
    stops: tuple[float, float] = (-math.inf, math.inf)
    strata: EncodedStrata | None = None


class Encoding(NamedTuple):
    """The encoded column of each of F features, and the raw value ``low + x scale`` with so many ``digits``, (F,)."""

    column: Indices
    low: Array
    scale: Array
    digits: Sequence[int]


class Examined(NamedTuple):
    """R states in which people will be, as they are examined.

    ``acted`` (R, D) are the rows of who changes alone what the person does. ``short`` (R, D) are the states where
    what follows moves by one deviation less: of k features that follow, each by its deviation / sqrt(k). ``sound`` (R,)
    are those that people can be told: what follows is defined and within its bounds, nothing that is computed is moved,
    and no action goes against the change that is told.
    """

    acted: Array
    short: Array
    sound: Mask


class Consequences:
    r"""The states in which people will be after what they do, and what they do to be in a state.

    In raw units, in the order of the graph, with the slopes $b_{pj}$ of the parents $p$ of a feature $j$,

    $$x'_j = x_j + a_j + \sum_p b_{pj} (x'_p - x_p)$$

    where $a_j$ is what the person does; people of some groups have slopes of their own, by what they were before. The
    sum is rounded to the digits of the feature, so that $a_j$ follows from $x'$ exactly. Of a computed feature the sum
    is $f(x') - f(x)$, and $a_j$ is 0. Of one that stops, the sum leads no farther than to its bounds, before the person
    does anything: so $a_j$ still follows from $x'$ and $x$ alone.

    Parameters
    ----------
    links
        The features that follow others, in any order.
    encoding
        How features are encoded; those of links have a column each.

    Raises
    ------
    ValueError
        Where features follow each other in a cycle, or one stands in two links.

    Examples
    --------
    Savings of 2 more lower the debts by 1.

    >>> encoding = Encoding(np.arange(2), np.zeros(2), np.ones(2), [0, 0])
    >>> consequences = Consequences([Link(1, [0], [-0.5], [0.25])], encoding)
    >>> people, told = np.array([[3.0, 4.0]]), np.array([[5.0, 4.0]])
    >>> consequences.states_after(told, people)
    array([[5., 3.]])
    >>> consequences.actions(np.array([[5.0, 3.0]]), people)
    array([[5., 4.]])

    References
    ----------
    Karimi, A.-H., Schölkopf, B. and Valera, I. (2021). Algorithmic Recourse: from Counterfactual Explanations to
    Interventions. FAccT. Equation 6: the additive noise of each person is kept.
    """

    def __init__(self, links: Sequence[Link], encoding: Encoding) -> None:
        self.links = _ordered(links)
        numbers = sorted({feature for link in self.links for feature in (link.child, *link.parents)})
        place = {feature: number for number, feature in enumerate(numbers)}
        self.features: Indices = np.array(numbers, dtype=np.intp)
        """The numbers (K,) of the features that follow others, or that others follow."""
        self.followers: Indices = np.array([link.child for link in self.links], dtype=np.intp)
        """The numbers of those that follow others, in the order of the graph."""
        self._column = encoding.column[self.features]
        self._low, self._scale = (values[self._column, np.newaxis] for values in (encoding.low, encoding.scale))
        self._unit = 10.0 ** np.maximum(np.array(encoding.digits)[self.features], 0)[:, np.newaxis]
        self._levels = list(_levels(self.links, place, self._unit))
        moving = {
            feature for link in self.links for feature in (*link.parents, *([link.child] if link.formula else []))
        }
        self._moving = encoding.column[sorted(moving)]
        self._computed = [place[link.child] for link in self.links if link.formula is not None]
        self._child = np.array([place[link.child] for link in self.links], dtype=np.intp)
        varying = [link.child for link in self.links if _varies(link)]
        self._varying = np.array([place[child] for child in varying], dtype=np.intp)
        self.varies = bool(varying)
        """Whether people differ in what follows."""

    def states_after(self, targets: Array, people: Array) -> Array:
        """The states (R, D) of people (R, D) who move the columns in which ``targets`` (R, D) differ."""
        rows = self._moved(targets, people)
        if len(rows) < len(targets):
            states = targets.copy()
            if len(rows):
                states[rows] = self.states_after(targets[rows], people[rows])
            return states
        own, values = self._raw(people), self._raw(targets)
        acted = targets.T[self._column] != people.T[self._column]
        self._carry(own, values, acted, self._levels_of(people))
        return self._encoded(targets, own, values, ~acted)

    def actions(self, states: Array, people: Array) -> Array:
        """The rows (R, D) of people (R, D) who change alone what they do to be in the ``states`` (R, D)."""
        own, values = self._raw(people), self._raw(states)
        return self._acted(states, people, own, self._done(own, values, self._levels_of(people)))

    def stated_changes(self, states: Array, people: Array) -> Mask:
        """Which columns of ``states`` (R, D) differ from people's (R, D) by something that they do, (R, D)."""
        return np.asarray(self.actions(states, people) != people)

    def of_actions(self, acted: Array, people: Array) -> Array:
        """The states (R, D) after what people (R, D) do, of rows (R, D) that change alone what they do."""
        own, does = self._raw(people), self._raw(acted)
        values = does.copy()
        for level in self._levels_of(people):
            j = level.child
            values[j] = _rounded(does[j] + level.follows(own, values), level.unit)
        return self._encoded(acted, does, values, np.ones(values.shape, np.bool_))

    def examined(self, states: Array, people: Array, lowest: Array, highest: Array) -> Examined:
        """The examined states (R, D) of people (R, D), with the raw bounds ``lowest`` and ``highest`` (F,)."""
        rows = self._moved(states, people)
        if len(rows) < len(states):
            return self._examined_some(rows, states, people, lowest, highest)
        own, values = self._raw(people), self._raw(states)
        levels = self._levels_of(people)
        done = self._done(own, values, levels)
        sound: Mask = np.asarray(~np.isnan(done).any(axis=0))
        for j in self._computed:
            sound &= done[j] == 0.0
        child, feature = self._child, self.features[self._child]
        after, moves, does = values[child], values[child] - own[child], done[child]
        within = (after >= lowest[feature, np.newaxis]) & (after <= highest[feature, np.newaxis])
        sound &= ((within | (moves == 0.0)) & ((does == 0.0) | (does * moves > 0.0))).all(axis=0)
        acted = self._acted(states, people, own, done)
        return Examined(acted, self._shortened(states, own, values, done, levels), sound)

    def _examined_some(self, rows: Indices, states: Array, people: Array, lowest: Array, highest: Array) -> Examined:
        """The same where nothing follows but in these rows."""
        sound = np.ones(len(states), np.bool_)
        if not len(rows):
            return Examined(states, states, sound)
        some = self.examined(states[rows], people[rows], lowest, highest)
        acted, short = states.copy(), states.copy() if self.varies else states
        acted[rows], sound[rows] = some.acted, some.sound
        if self.varies:
            short[rows] = some.short
        return Examined(acted, short, sound)

    def _moved(self, rows: Array, people: Array) -> Indices:
        """The numbers of the rows (R, D) in which something moves that others follow, or that is computed."""
        return np.flatnonzero((rows.T[self._moving] != people.T[self._moving]).any(axis=0))

    def _shortened(self, states: Array, own: Array, values: Array, done: Array, levels: Sequence[_Level]) -> Array:
        if not self.varies:
            return states
        short = np.where(done != 0.0, values, own)
        moves = (values[self._varying] != own[self._varying]) & (done[self._varying] == 0.0)
        share = 1.0 / np.sqrt(np.maximum(moves.sum(axis=0), 1))
        self._carry(own, short, done != 0.0, [level.shortened(share) for level in levels])
        return self._encoded(states, values, short, done == 0.0)

    def _raw(self, rows: Array) -> Array:
        """The raw values (K, R) of encoded rows (R, D)."""
        return raw_values(np.require(rows, requirements=["C", "W"]), self._column, self._low, self._scale, self._unit)

    def _encoded(self, rows: Array, before: Array, values: Array, where: Mask) -> Array:
        """Encoded rows (R, D) with these raw values (K, R), ``where`` they are others than ``before``."""
        encoded = rows.copy()
        encode(encoded, self._column, self._low, self._scale, before, values, where)
        return encoded

    def _carry(self, own: Array, values: Array, acted: Mask, levels: Sequence[_Level]) -> None:
        """Put what follows into the raw ``values`` (K, R), where people have not ``acted`` (K, R) themselves.

        What is not defined stays as it is.
        """
        for level in levels:
            j = level.child
            moved = _rounded(own[j] + level.follows(own, values), level.unit)
            values[j] = np.where(acted[j] | np.isnan(moved), values[j], moved)

    def _levels_of(self, people: Array) -> Sequence[_Level]:
        """The links in levels, with the slopes of people (R, D)."""
        return [level.with_slopes_of(people) for level in self._levels]

    def _done(self, own: Array, values: Array, levels: Sequence[_Level]) -> Array:
        """The raw actions (K, R) of people with ``own`` values (K, R) who will have ``values``; NaN if not defined."""
        done = _rounded(values - own, self._unit)
        for level in levels:
            j = level.child
            done[j] = _rounded(values[j] - own[j] - level.follows(own, values), level.unit)
        return done

    def _acted(self, states: Array, people: Array, own: Array, done: Array) -> Array:
        acted, child = states.copy(), self._child
        does = np.where(np.isnan(done[child]), 0.0, done[child])
        alone = (_rounded(own[child] + does, self._unit[child]) - self._low[child]) / self._scale[child]
        acted[:, self._column[child]] = np.where(does == 0.0, people.T[self._column[child]], alone).T
        return acted


class _Level(NamedTuple):
    """Features that follow others and not each other: their places ``child`` (c,) among K features.

    ``parents`` (c, p) are the places of those that they follow and ``slopes`` (c, p, 1) how, 0 where there are fewer;
    (c, p, R) where they are those of R people, some of whom belong to the ``strata`` of a child.
    What follows ``stops`` at ``lowest`` and ``highest`` (c, 1), raw, infinite where nothing stops it.
    With a ``short`` (R,) each slope of a row is so many deviations nearer to 0, not beyond it. ``unit`` (c, 1) are the
    units in 1 to which raw values are rounded. One that is computed is alone, with a ``formula``.
    """

    child: Indices
    parents: Indices
    slopes: Array
    deviations: Array
    unit: Array
    lowest: Array
    highest: Array
    formula: Formula | None
    strata: Sequence[tuple[int, EncodedStrata]]
    short: Array | None = None

    def with_slopes_of(self, people: Array) -> _Level:
        """The same with the slopes and deviations of people (R, D)."""
        if not self.strata:
            return self
        shape = (*self.parents.shape, len(people))
        slopes, deviations = (np.broadcast_to(values, shape).copy() for values in (self.slopes, self.deviations))
        for row, strata in self.strata:
            group, p = strata.groups_of(people), strata.slopes.shape[1]
            members = np.flatnonzero(group < len(strata.rows))
            slopes[row, :p, members] = strata.slopes[group[members]]
            deviations[row, :p, members] = strata.deviations[group[members]]
        return self._replace(slopes=slopes, deviations=deviations)

    def follows(self, own: Array, values: Array) -> Array:
        """By how much they follow, raw (c, R), rounded, of values (K, R) before and after; NaN if not defined."""
        if self.formula is not None:
            return _rounded(self._computed(self.formula, own, values), self.unit)
        short = np.zeros(own.shape[1]) if self.short is None else self.short
        ends = self.lowest, self.highest, self.unit
        return linear_moves(own, values, self.child, self.parents, self.slopes, self.deviations, short, *ends)

    def _computed(self, formula: Formula, own: Array, values: Array) -> Array:
        parents = self.parents[0]
        moved = (values[parents] != own[parents]).any(axis=0)
        total = np.zeros((1, own.shape[1]))
        if moved.any():
            before, after = (formula([raw[parent, moved] for parent in parents]) for raw in (own, values))
            total[0, moved] = after - before
        return total

    def shortened(self, deviations: Array) -> _Level:
        """The same for R rows of which every slope is so many deviations (R,) nearer to 0."""
        return self._replace(short=deviations)


def _levels(links: Sequence[Link], place: Mapping[int, int], unit: Array) -> Iterator[_Level]:
    """The links in levels: each after those of its parents."""
    depth: dict[int, int] = {}
    for link in links:
        depth[link.child] = 1 + max(depth.get(parent, 0) for parent in link.parents)
    for level in sorted(set(depth.values())):
        of_level = [link for link in links if depth[link.child] == level]
        groups = [
            [link for link in of_level if link.formula is None],
            *([link] for link in of_level if link.formula is not None),
        ]
        yield from (_level(group, place, unit) for group in groups if group)


def _level(links: Sequence[Link], place: Mapping[int, int], unit: Array) -> _Level:
    child = np.array([place[link.child] for link in links], dtype=np.intp)
    shape = (len(links), max(len(link.parents) for link in links))
    parents, numbers = np.zeros(shape, np.intp), np.zeros((2, *shape, 1))
    for row, link in enumerate(links):
        parents[row, : len(link.parents)] = [place[parent] for parent in link.parents]
        numbers[0, row, : len(link.slopes), 0], numbers[1, row, : len(link.slopes), 0] = link.slopes, link.deviations
    lowest, highest = np.array([link.stops for link in links]).T[:, :, np.newaxis]
    units = unit[child]
    # To whole digits within the bounds.
    lowest, highest = np.ceil(lowest * units - ROUNDING) / units, np.floor(highest * units + ROUNDING) / units
    strata = [(row, link.strata) for row, link in enumerate(links) if link.strata is not None]
    return _Level(child, parents, numbers[0], numbers[1], units, lowest, highest, links[0].formula, strata)


def _varies(link: Link) -> bool:
    return any(link.deviations) or (link.strata is not None and bool(link.strata.deviations.any()))


def _ordered(links: Sequence[Link]) -> Sequence[Link]:
    """The links, each after those of its parents."""
    left, ordered = {link.child: link for link in links}, list[Link]()
    if len(left) < len(links):
        raise ValueError("a feature follows others by two links")
    while left:
        free = [child for child, link in left.items() if not left.keys() & set(link.parents)]
        if not free:
            raise ValueError(f"features {sorted(left)} follow each other in a cycle")
        ordered += [left.pop(child) for child in free]
    return ordered


def _rounded(values: Array, unit: NDArray[np.float64]) -> Array:
    return np.asarray(np.rint(values * unit) / unit)


@compiled
def raw_values(rows: Array, column: Indices, low: Array, scale: Array, unit: Array) -> Array:
    """The raw values (K, R) of the columns (K,) of encoded rows (R, D), with what encodes them (K, 1)."""
    values = np.empty((len(column), len(rows)))
    for k in range(len(column)):
        for r in range(len(rows)):
            values[k, r] = np.rint((low[k, 0] + rows[r, column[k]] * scale[k, 0]) * unit[k, 0]) / unit[k, 0]
    return values


@compiled
def encode(rows: Array, column: Indices, low: Array, scale: Array, before: Array, values: Array, where: Mask) -> None:
    """Put raw values (K, R) into encoded rows (R, D), ``where`` (K, R) they are others than ``before`` and defined."""
    for k in range(len(column)):
        for r in range(len(rows)):
            value = values[k, r]
            if where[k, r] and value != before[k, r] and not np.isnan(value):
                rows[r, column[k]] = (value - low[k, 0]) / scale[k, 0]


@compiled
def linear_moves(
    own: Array,
    values: Array,
    child: Indices,
    parents: Indices,
    slopes: Array,
    deviations: Array,
    short: Array,
    lowest: Array,
    highest: Array,
    unit: Array,
) -> Array:
    """By how much children (c,) follow, raw (c, R), of values (K, R) before and after.

    Slopes and deviations are (c, p, R), or (c, p, 1) of everybody; of row r they are ``short[r]`` deviations nearer
    to 0. Nothing leads beyond the ends (c, 1), but who is beyond them already stays there.
    """
    moves, alike = np.empty((len(child), own.shape[1])), slopes.shape[2] == 1
    for c in range(len(child)):
        for r in range(own.shape[1]):
            group, total = 0 if alike else r, 0.0
            for p in range(parents.shape[1]):
                slope = slopes[c, p, group]
                nearer = max(abs(slope) - deviations[c, p, group] * short[r], 0.0)
                total += np.sign(slope) * nearer * (values[parents[c, p], r] - own[parents[c, p], r])
            move, person = np.rint(total * unit[c, 0]) / unit[c, 0], own[child[c], r]
            end = person + move
            if end < min(lowest[c, 0], person):
                move = np.rint((min(lowest[c, 0], person) - person) * unit[c, 0]) / unit[c, 0]
            elif end > max(highest[c, 0], person):
                move = np.rint((max(highest[c, 0], person) - person) * unit[c, 0]) / unit[c, 0]
            moves[c, r] = move
    return moves

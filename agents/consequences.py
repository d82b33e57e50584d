"""What follows from what people do: features that move when others are moved.

A person who changes some features keeps what is their own of every other one (abduction); the change is carried through
(action); and what follows from it is added (prediction). So the state after a change tells what was done, and the other
way round.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from .arrays import Array, Indices, Mask

Formula = Callable[[Sequence[Array]], Array]
"""The raw values (n,) of a feature from those of its parents, (n,) each; NaN where it has none."""


class Link(NamedTuple):
    """How the feature ``child`` follows its ``parents`` (p,), all of them numbers of features.

    It moves by ``slopes`` (p,), raw, for one unit of each parent, with the standard ``deviations`` (p,) between people.
    One that is computed has a ``formula`` of its parents instead.
    """

    child: int
    parents: Sequence[int]
    slopes: Sequence[float] = ()
    deviations: Sequence[float] = ()
    formula: Formula | None = None


class Encoding(NamedTuple):
    """The encoded column of each of F features, and the raw value ``low + x scale`` with so many ``digits``, (F,)."""

    column: Indices
    low: Array
    scale: Array
    digits: Sequence[int]


class Examined(NamedTuple):
    """What is seen of R states in which people will be.

    ``acted`` (R, D) are the rows of who changes alone what the person does. ``short`` (R, D) are the states where
    what follows moves by one deviation less. ``sound`` (R,) are those that people can be told: what follows is defined
    and within its bounds, nothing that is computed is moved, and no action goes against the change that is told.
    """

    acted: Array
    short: Array
    sound: Mask


class Consequences:
    r"""The states in which people will be after what they do, and what they do to be in a state.

    In raw units, in the order of the graph, with the slopes $b_{pj}$ of the parents $p$ of a feature $j$,

    $$x'_j = x_j + a_j + \sum_p b_{pj} (x'_p - x_p)$$

    where $a_j$ is what the person does. The sum is rounded to the digits of the feature, so that $a_j$ follows from
    $x'$ exactly. Of a computed feature the sum is $f(x') - f(x)$, and $a_j$ is 0.

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
    >>> consequences.after(told, people)
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
        numbers = sorted({each for link in self.links for each in (link.child, *link.parents)})
        place = {feature: number for number, feature in enumerate(numbers)}
        self.features: Indices = np.array(numbers, dtype=np.intp)
        """The numbers (K,) of the features that follow others, or that others follow."""
        self.followers: Indices = np.array([link.child for link in self.links], dtype=np.intp)
        """The numbers of those that follow others, in the order of the graph."""
        self._column = encoding.column[self.features]
        self._low, self._scale = (each[self._column, np.newaxis] for each in (encoding.low, encoding.scale))
        self._unit = 10.0 ** np.maximum(np.array(encoding.digits)[self.features], 0)[:, np.newaxis]
        self._links = [
            link._replace(child=place[link.child], parents=[place[parent] for parent in link.parents])
            for link in self.links
        ]
        self._short = [
            link._replace(slopes=[_nearer(*each) for each in zip(link.slopes, link.deviations, strict=True)])
            for link in self._links
        ]
        self._computed = [link.child for link in self._links if link.formula is not None]
        self.varies = any(any(link.deviations) for link in self.links)
        """Whether people differ in what follows."""

    def after(self, told: Array, people: Array) -> Array:
        """The states (R, D) of people (R, D) who move the columns in which ``told`` (R, D) differs to what it says."""
        own, values = self._raw(people), self._raw(told)
        acted = told[:, self._column].T != people[:, self._column].T
        self._carry(own, values, acted, self._links)
        return self._encoded(told, own, values, ~acted)

    def actions(self, states: Array, people: Array) -> Array:
        """The rows (R, D) of people (R, D) who change alone what they do to be in the ``states`` (R, D)."""
        own, values = self._raw(people), self._raw(states)
        return self._acted(states, people, own, self._done(own, values))

    def told(self, states: Array, people: Array) -> Mask:
        """Which columns of ``states`` (R, D) differ from people's (R, D) by something that they do, (R, D)."""
        return np.asarray(self.actions(states, people) != people)

    def of_actions(self, acted: Array, people: Array) -> Array:
        """The states (R, D) after what people (R, D) do, of rows (R, D) that change alone what they do."""
        own, does = self._raw(people), self._raw(acted)
        values = does.copy()
        for link in self._links:
            j = link.child
            values[j] = _rounded(does[j] + self._follows(link, own, values), self._unit[j])
        return self._encoded(acted, does, values, np.ones(values.shape, np.bool_))

    def examined(self, states: Array, people: Array, lowest: Array, highest: Array) -> Examined:
        """What is seen of states (R, D) of people (R, D), with the bounds ``lowest`` and ``highest`` (F,), raw."""
        own, values = self._raw(people), self._raw(states)
        done = self._done(own, values)
        sound: Mask = np.asarray(~np.isnan(done).any(axis=0))
        for j in self._computed:
            sound &= done[j] == 0.0
        for link in self._links:
            j, feature = link.child, self.features[link.child]
            moves = values[j] - own[j]
            within = (values[j] >= lowest[feature]) & (values[j] <= highest[feature])
            sound &= (within | (moves == 0.0)) & ((done[j] == 0.0) | (done[j] * moves > 0.0))
        acted = self._acted(states, people, own, done)
        return Examined(acted, self._shortened(states, own, values, done), sound)

    def _shortened(self, states: Array, own: Array, values: Array, done: Array) -> Array:
        if not self.varies:
            return states
        short = np.where(done != 0.0, values, own)
        self._carry(own, short, done != 0.0, self._short)
        return self._encoded(states, values, short, done == 0.0)

    def _raw(self, rows: Array) -> Array:
        """The raw values (K, R) of encoded rows (R, D)."""
        return _rounded(self._low + rows[:, self._column].T * self._scale, self._unit)

    def _encoded(self, rows: Array, before: Array, values: Array, where: Mask) -> Array:
        """Encoded rows (R, D) with these raw values (K, R), ``where`` they are others than ``before``."""
        encoded, changed = rows.copy(), where & (values != before) & ~np.isnan(values)
        for k in np.flatnonzero(changed.any(axis=1)).tolist():
            one = changed[k]
            encoded[one, self._column[k]] = (values[k, one] - self._low[k]) / self._scale[k]
        return encoded

    def _carry(self, own: Array, values: Array, acted: Mask, links: Sequence[Link]) -> None:
        """Put what follows into the raw ``values`` (K, R), where people have not ``acted`` (K, R) themselves.

        What is not defined stays as it is.
        """
        for link in links:
            j = link.child
            moved = _rounded(own[j] + self._follows(link, own, values), self._unit[j])
            values[j] = np.where(acted[j] | np.isnan(moved), values[j], moved)

    def _done(self, own: Array, values: Array) -> Array:
        """What people do, raw (K, R), who have ``own`` values (K, R) and will have ``values``; NaN if not defined."""
        done = _rounded(values - own, self._unit)
        for link in self._links:
            j = link.child
            done[j] = _rounded(values[j] - own[j] - self._follows(link, own, values), self._unit[j])
        return done

    def _acted(self, states: Array, people: Array, own: Array, done: Array) -> Array:
        acted = states.copy()
        for link in self._links:
            k, column = link.child, self._column[link.child]
            does = np.nan_to_num(done[k])
            alone = (_rounded(own[k] + does, self._unit[k]) - self._low[k]) / self._scale[k]
            acted[:, column] = np.where(does == 0.0, people[:, column], alone)
        return acted

    def _follows(self, link: Link, own: Array, values: Array) -> Array:
        """By how much a feature follows its parents, raw (R,), rounded; NaN where that is not defined."""
        total = np.zeros(own.shape[1])
        if link.formula is None:
            for parent, slope in zip(link.parents, link.slopes, strict=True):
                total += slope * (values[parent] - own[parent])
        else:
            moved = np.zeros(own.shape[1], np.bool_)
            for parent in link.parents:
                moved |= values[parent] != own[parent]
            if moved.any():
                before, after = (
                    link.formula([each[parent, moved] for parent in link.parents]) for each in (own, values)
                )
                total[moved] = after - before
        return _rounded(total, self._unit[link.child])


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


def _nearer(slope: float, deviation: float) -> float:
    """A slope one deviation nearer to 0, not beyond it."""
    return float(np.sign(slope)) * max(0.0, abs(slope) - deviation)


def _rounded(values: Array, unit: NDArray[np.float64]) -> Array:
    return np.asarray(np.rint(values * unit) / unit)

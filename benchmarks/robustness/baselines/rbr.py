"""RBR: robust Bayesian recourse, by samples around the nearest point of the boundary. A baseline."""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar, NamedTuple

import numpy as np

from onward.agents.candidates.contract import Array
from onward.agents.scores import Score

LogDensity = Callable[[Array, Array, Array], tuple[Array, Array]]
"""The log density at distances, after a move along the line to the point and a widening, and its slope in distance."""

DISTANCES = 257
"""Distances of the table of worst densities; between them it is linear."""
ANGLES = 33
SIZES = 17
"""The grid on which a move and a widening are searched: a quarter of a disc."""
ROUNDS = 4
"""Each is a grid around the best of the one before, of an eighth of its size."""
STABLE = 10
"""Descent ends after this number of steps without a lower objective."""
IMPROVED = 1e-10


class Bayesian:
    r"""Descends on the odds of a rejection, under the worst Gaussian mixtures near that of some samples.

    Samples are drawn around the point where the way to an accepted row, the nearest in l1, crosses the boundary. The
    model tells the two classes. Each sample is the centre of a Gaussian of standard deviation $\sigma$. Its mean and
    widths may change by $\varepsilon$ in the Wasserstein distance, widths only upwards. The target minimises

    $$\log \sum_{rejected} \max p(x) - \log \sum_{accepted} \min p(x)$$

    within $\|x - x_0\|_1 \le \|x_b - x_0\|_1 + \delta$, where $x_b$ is the boundary point. A density depends on the
    distance to its centre alone, so both extremes are a table over distances, of problems in two numbers.

    Parameters
    ----------
    score, data
        The model, and the rows (N, D) it was fitted on; some are accepted.
    optimistic, pessimistic
        $\varepsilon$ of the rejected and of the accepted samples, 0 or more, in the unit of the columns.
    width
        $\sigma$, above 0, in the same unit.
    beyond
        $\delta$, in l1.
    radius, samples
        How far from the boundary point samples are drawn, and their number.
    neighbours
        The number of accepted rows of which the way is looked at.
    steps, rate
        The most steps of descent, and the step size.

    References
    ----------
    Nguyen, T.-D. H., Bui, N., Nguyen, D., Yue, M.-C. and Nguyen, V. A. (2022). Robust Bayesian Recourse. UAI,
    arXiv 2206.10833. Parameters are named and set as in the authors' code.
    """

    baseline: ClassVar[bool] = True

    def __init__(
        self,
        score: Score,
        data: Array,
        *,
        optimistic: float = 0.0,
        pessimistic: float = 0.0,
        width: float = 1.0,
        beyond: float = 0.2,
        radius: float = 0.2,
        samples: int = 200,
        neighbours: int = 1000,
        steps: int = 500,
        rate: float = 1e3**-0.5,
        threshold: float = 0.5,
    ) -> None:
        self._score, self._threshold = score, threshold
        self._accepted = data[score(data) > threshold]
        if not len(self._accepted):
            raise ValueError("the model accepts no row of the data: give rows of both classes")
        self._epsilon, self._width, self._beyond = (optimistic, pessimistic), width, beyond
        self._radius, self._samples, self._neighbours = radius, samples, neighbours
        self._steps, self._rate = steps, rate

    def targets(self, people: Array, random: np.random.Generator) -> Array:
        """The targets, (n, D), of n rejected people (n, D). The model need not accept them."""
        starts = np.array([self.boundary(person) for person in people]).reshape(people.shape)
        most = np.abs(starts - people).sum(axis=1) + self._beyond
        # A point stays within `most` of its person, and so do the samples but for their radius.
        far, columns = 2.0 * float(most.max(initial=0.0)) + self._radius, people.shape[1]
        near = optimistic_density(columns, self._width, self._epsilon[0], far)
        away = pessimistic_density(columns, self._width, self._epsilon[1], far)
        found = np.empty_like(starts)
        for row, (person, start) in enumerate(zip(people, starts, strict=True)):
            drawn = start + self._radius * _in_ball(self._samples, columns, random)
            accepted = self._score(drawn) > self._threshold
            if accepted.all() or not accepted.any():
                found[row] = start
                continue
            mixtures = _Mixture(drawn[~accepted], near), _Mixture(drawn[accepted], away)
            found[row] = self._descended(person, start, float(most[row]), *mixtures)
        return found

    def boundary(self, person: Array) -> Array:
        """The accepted point (D,) nearest in l1 on the ways from a person (D,) to accepted rows, by hundredths."""
        distance = np.abs(self._accepted - person).sum(axis=1)
        nearest = np.argsort(distance, kind="stable")[: self._neighbours]
        shares = np.linspace(0.0, 1.0, 100)
        ways = self._accepted[nearest] - person
        points = person + shares[:, np.newaxis] * ways[:, np.newaxis]
        accepts = self._score(points.reshape(-1, len(person))).reshape(len(nearest), -1) > self._threshold
        accepts[:, -1] = True
        first = accepts.argmax(axis=1)
        best = int((shares[first] * distance[nearest]).argmin())
        return np.asarray(points[best, first[best]])

    def _descended(self, person: Array, point: Array, most: float, rejected: _Mixture, accepted: _Mixture) -> Array:
        least, stable = np.inf, 0
        for _ in range(self._steps):
            numerator, rise = rejected(point)
            denominator, fall = accepted(point)
            stable = stable + 1 if least - (numerator - denominator) <= IMPROVED else 0
            least = min(least, numerator - denominator)
            if stable == STABLE or np.abs(point - person).sum() >= most:
                break
            point = person + in_l1_ball(point - self._rate * (rise - fall) - person, most)
        return point


class RadialDensity(NamedTuple):
    """A table of log densities and their slopes, by the distance from the centre: (K,) each."""

    distance: Array
    log: Array
    slope: Array


class _Mixture:
    """The log of a sum of radial densities around centres (m, D)."""

    def __init__(self, centres: Array, density: RadialDensity) -> None:
        self._centres, self._density = centres, density

    def __call__(self, point: Array) -> tuple[float, Array]:
        """Its value at a point (D,), and its gradient (D,)."""
        away = point - self._centres
        distance = np.sqrt((away**2).sum(axis=1))
        logs, slopes = (np.interp(distance, self._density.distance, table) for table in self._density[1:])
        largest = logs.max()
        shares = np.exp(logs - largest)
        total = shares.sum()
        along = shares / total * slopes / np.maximum(distance, 1e-12)
        return float(largest + np.log(total)), np.asarray(along @ away)


def optimistic_density(columns: int, width: float, epsilon: float, far: float) -> RadialDensity:
    """The largest density within ``epsilon``, up to the distance ``far``: nearer, and wider along the line."""

    def density(distance: Array, move: Array, wider: Array) -> tuple[Array, Array]:
        own, rest = width + wider, np.maximum(distance - move, 0.0)
        return -np.log(own) - rest**2 / (2.0 * own**2) - (columns - 1) * np.log(width), -rest / own**2

    return _extreme(density, 1.0, epsilon, far)


def pessimistic_density(columns: int, width: float, epsilon: float, far: float) -> RadialDensity:
    """The least density within ``epsilon``, up to the distance ``far``: farther, and wider in all directions.

    What the move and the widening along the line leave of ``epsilon`` widens the other directions equally.
    """

    def density(distance: Array, move: Array, wider: Array) -> tuple[Array, Array]:
        own, rest = width + wider, distance + move
        left = np.maximum(epsilon**2 - move**2 - wider**2, 0.0)
        across = width + np.sqrt(left / max(columns - 1, 1))
        return -np.log(own) - rest**2 / (2.0 * own**2) - (columns - 1) * np.log(across), -rest / own**2

    return _extreme(density, -1.0, epsilon, far)


def _extreme(density: LogDensity, sign: float, epsilon: float, far: float) -> RadialDensity:
    """The density of the best move and widening, of all with squares that add up to at most those of ``epsilon``.

    ``sign`` is 1 for the largest and -1 for the least. The slope is that of the best move and widening held fixed.
    """
    distance = np.linspace(0.0, far, DISTANCES)
    size, angle = np.full(DISTANCES, 0.5 * epsilon), np.full(DISTANCES, 0.25 * np.pi)
    reach = 1.0
    for _ in range(ROUNDS):
        sizes = _around(size, 0.5 * reach * epsilon, SIZES, epsilon)[:, :, np.newaxis]
        angles = _around(angle, 0.25 * reach * np.pi, ANGLES, 0.5 * np.pi)[:, np.newaxis]
        logs, _ = density(distance[:, np.newaxis, np.newaxis], sizes * np.cos(angles), sizes * np.sin(angles))
        best, each = (sign * logs).reshape(DISTANCES, -1).argmax(axis=1), np.arange(DISTANCES)
        size, angle = sizes[each, best // ANGLES, 0], angles[each, 0, best % ANGLES]
        reach /= 8.0
    return RadialDensity(distance, *density(distance, size * np.cos(angle), size * np.sin(angle)))


def _around(centre: Array, reach: float, count: int, most: float) -> Array:
    """``count`` numbers around each centre (K,), within 0 and ``most``: (K, count)."""
    return np.clip(centre[:, np.newaxis] + np.linspace(-reach, reach, count), 0.0, most)


def in_l1_ball(change: Array, most: float) -> Array:
    """The nearest point of the l1 ball of a radius to a point (D,).

    Examples
    --------
    >>> in_l1_ball(np.array([3.0, -1.0]), 3.0), in_l1_ball(np.array([3.0, -1.0]), 1.0)
    (array([ 2.5, -0.5]), array([ 1., -0.]))
    """
    sizes = np.abs(change)
    if sizes.sum() <= most:
        return change
    falling = np.sort(sizes)[::-1]
    excess = (np.cumsum(falling) - most) / np.arange(1, len(sizes) + 1)
    shift = excess[np.flatnonzero(falling > excess)[-1]]
    return np.asarray(np.sign(change) * np.maximum(sizes - shift, 0.0))


def _in_ball(count: int, columns: int, random: np.random.Generator) -> Array:
    """Points (count, columns), uniform in the unit ball."""
    directions = random.standard_normal((count, columns))
    directions /= np.linalg.norm(directions, axis=1, keepdims=True)
    return np.asarray(directions * random.random((count, 1)) ** (1.0 / columns))

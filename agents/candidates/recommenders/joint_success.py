"""The changes that make joint success most likely, one person at a time, in compiled loops.

A changed feature with attainability a fails with probability exp(-theta a) (eq 8). Its *loss* is -log(1 - exp(-z)) with
z = theta a, and a plan's loss is the sum. With u = 1 / (1 + z / theta), eq 7 says change (own + sign change) = u, so a
change, its loss and their slopes are closed expressions of z. A large z is a small change.

Along the change the loss is convex at first, concave beyond a success probability of about .8, and convex again near
very large changes. A person's problem, least loss at a required gain in log odds, is solved by its dual: at a price per
unit of gain every feature has a best change of its own. Where these changes jump over the required gain, intervals of
changes are split and bounded (branch and bound), until nothing can be better by more than a tolerance.

All of it stands in one file, because compiled functions call those of their own file only.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...arrays import Mask
from ...compiled import compiled
from ..contract import Array

OPTIMALITY_GAP = 1e-3
"""In log probability: a plan's joint success is at most this far from the largest."""
SMALLEST_CHANGE = 60.0
"""The z at which a change starts to grow: its failure has probability 1e-26."""
LEAST_Z = 1e-9
ROOT_ERROR = 1e-4
"""The last relative step of Newton's method: the error is about its square."""
RESPONSE_ERROR = 1e-2
"""The same, of the best changes at a price that is not the last: their values are stationary there."""
STARTING_STEPS = 4
NEWTON_STEPS = 60
DUAL_STEPS = 60
LARGEST_PRICE = 200.0
MOST_BOUNDED = 400
"""Intervals that are bounded for one person at most."""
MOST_OPEN = 60
"""Intervals that wait at most."""


class Person(NamedTuple):
    """Of each of M features, (M,): own value, sign of a helpful change, theta, and the gain for a unit of change."""

    own: Array
    sign: Array
    theta: Array
    gain: Array


class Features(NamedTuple):
    """The features that are free to change, (M,), and those of them that stay at the end of their room."""

    free: Mask
    at_end: Mask


class Sides(NamedTuple):
    """The changes that gain too little, (M,), and those that gain enough; and of both which are on the convex part."""

    below: Array
    above: Array
    below_free: Mask
    above_free: Mask


class Known(NamedTuple):
    """The losses at both ends of M intervals, (M,), and what ``end_of`` says of them, (M, 3)."""

    low_loss: Array
    high_loss: Array
    ends: Array


@compiled
def copy_to(copy: NDArray[Any], array: NDArray[Any]) -> None:
    """Write an array over another of its size. An assignment to a slice is compiled with all that says what is wrong
    about sizes, which takes seconds."""
    for m in range(len(array)):
        copy[m] = array[m]


# --- the loss of a change ---------------------------------------------------------------------------------------------


@compiled
def loss_of(change: float, own: float, sign: float, theta: float) -> float:
    """-log of the probability that a change succeeds (eq 7 and 8)."""
    z = z_of(change, own, sign, theta)
    return -math.log1p(-math.exp(-z)) if z > 0.0 else math.inf


@compiled
def z_of(change: float, own: float, sign: float, theta: float) -> float:
    """Theta times the attainability of a change (eq 7)."""
    u = change * (own + sign * change)
    return theta * (1.0 / u - 1.0) if u > 0.0 else math.inf


@compiled
def change_at(z: float, own: float, sign: float, theta: float) -> tuple[float, float]:
    """The smaller change that has this z, and its derivative by z; the change is negative where there is none."""
    u = theta / (z + theta)
    square = own * own + 4.0 * sign * u
    if square <= 0.0:
        return -1.0, 0.0
    root = math.sqrt(square)
    # Written without a difference of nearly equal numbers.
    return 2.0 * u / (own + root), -u * u / (theta * root)


@compiled
def log_slope(z: float, own: float, sign: float, theta: float, gain: float) -> tuple[float, float]:
    """The log of a loss's slope for a unit of gain, and its derivative by z: negative where the loss is convex."""
    u = theta / (z + theta)
    square = own * own + 4.0 * sign * u
    rest = 1.0 - math.exp(-z) if z > 0.001 else -math.expm1(-z)
    if square <= 0.0 or rest <= 0.0:
        return math.inf, 1.0
    value = math.log(theta * math.sqrt(square) / (u * u * rest * gain)) - z
    return value, 2.0 / (z + theta) - 1.0 / rest - 2.0 * sign * u * u / (theta * square)


@compiled
def low_root(start: float, price: float, own: float, sign: float, theta: float, gain: float) -> float:
    """The z of the first change at which the log slope is the log ``price``, -1 where it stays below.

    Newton's method: the log slope is concave in z there, so steps from larger z do not pass the root.
    """
    z = start
    for _ in range(NEWTON_STEPS):
        value, slope = log_slope(z, own, sign, theta, gain)
        if slope >= -1e-12:
            if value > price or z >= SMALLEST_CHANGE:
                z = 2.0 * z + 10.0  # beyond the convex part: start again from smaller changes
                continue
            if start >= SMALLEST_CHANGE:
                return -1.0
            start = z = SMALLEST_CHANGE
            continue
        step = (price - value) / slope
        z += step
        if z <= 0.0:
            return -1.0
        if abs(step) <= RESPONSE_ERROR * z:
            return z
    return -1.0


@compiled
def high_root(z: float, price: float, own: float, sign: float, theta: float, gain: float) -> float:
    """The z of the largest change, of those beyond ``z``, at which the slope is the ``price``, -1 without one.

    At ``z`` the slope is above the price. A change near 1 of a feature near 0 has such a root.
    """
    least, most = z, SMALLEST_CHANGE
    if least >= most:
        return -1.0
    for _ in range(NEWTON_STEPS):
        value, slope = log_slope(z, own, sign, theta, gain)
        if slope >= 0.0:
            most = z
            if value > price:
                return -1.0
        elif value > price:
            least = z
        else:
            most = z
        following = z + (price - value) / slope if slope < 0.0 else 0.5 * (least + most)
        if not least < following < most:
            following = 0.5 * (least + most)
        if abs(following - z) <= RESPONSE_ERROR * z:
            return following
        z = following
    return z


@compiled
def best_change(
    price: float,
    scale: float,
    interval: tuple[float, float, float, float],
    end: tuple[float, float, float],
    feature: tuple[float, float, float, float],
    start: float,
) -> tuple[float, float, float, bool]:
    """The change in an interval that has the least loss minus price times gain: the change, this value, the z of the
    low root, and whether the change is that of the low root.

    The ``price`` is a logarithm, ``scale`` what a unit of change is worth at it. The ``interval`` has its ends and the
    losses there; ``end`` is what ``end_of`` says of it.
    """
    own, sign, theta, gain = feature
    low, high, low_loss, high_loss = interval
    change, value, from_root = low, low_loss - scale * low, False
    if high_loss - scale * high < value:
        change, value = high, high_loss - scale * high
    z = low_root(start, price, own, sign, theta, gain)
    if z > 0.0:
        inner, _ = change_at(z, own, sign, theta)
        if low < inner < high:
            loss = -math.log1p(-math.exp(-z)) - scale * inner
            if loss <= value:
                change, value, from_root = inner, loss, True
    z_high, slope, half_loss = end
    # Beyond half of the way nothing is better when the loss there is too large already.
    if slope > price and half_loss < value + scale * high:
        z_upper = high_root(z_high, price, own, sign, theta, gain)
        if z_upper > 0.0:
            inner, _ = change_at(z_upper, own, sign, theta)
            if low < inner < high:
                loss = loss_of(inner, own, sign, theta) - scale * inner
                if loss < value:
                    change, value, from_root = inner, loss, False
    return change, value, z, from_root


@compiled
def end_of(high: float, feature: tuple[float, float, float, float]) -> tuple[float, float, float]:
    """The z at the end of an interval, the log slope there, and the loss half way, -infinite where that says nothing.

    The slope is -infinite where no loss near the end is convex. What half of the way says holds where the loss is
    concave there, so that it is convex near the end only beyond.
    """
    own, sign, theta, gain = feature
    if sign < 0.0 or high <= 0.0:
        return 0.0, -math.inf, 0.0
    z = max(z_of(high, own, sign, theta), LEAST_Z)  # the change from 0 to 1 has none
    slope, derivative = log_slope(z, own, sign, theta, gain)
    if derivative >= 0.0:
        return z, -math.inf, 0.0
    half = z_of(0.5 * high, own, sign, theta)
    _, derivative = log_slope(half, own, sign, theta, gain)
    return z, slope, -math.log1p(-math.exp(-half)) if derivative > 0.0 else -math.inf


@compiled
def total_loss(change: Array, person: Person) -> float:
    """The loss of a plan."""
    own, sign, theta, _ = person
    total = 0.0
    for m in range(len(own)):
        total += loss_of(change[m], own[m], sign[m], theta[m])
    return total


# --- the convex parts -------------------------------------------------------------------------------------------------


@compiled
def spread(missing: float, free: Mask, room: Array, person: Person, z: Array, change: Array) -> bool:
    """Write the changes of the ``free`` features that gain what is missing at least loss; say whether they do.

    Only their convex parts are used: all have one slope, those with too little room stay at its end. Newton's method on
    all z and the price together. Those of ``change`` that are not free are not touched.
    """
    own, sign, theta, gain = person
    count = len(own)
    capacity = 0.0
    for m in range(count):
        if free[m]:
            capacity += gain[m] * room[m]
    if missing <= 0.0 or capacity < missing:
        return False
    common = common_z(missing, free, room, person)
    least = np.full(count, -1.0)
    for m in range(count):
        z[m] = common if free[m] else z[m]
        if sign[m] > 0.0 or 2.0 * room[m] < own[m]:
            least[m] = z_of(room[m], own[m], sign[m], theta[m])
    features = Features(free, np.zeros(count, dtype=np.bool_))
    slopes = (np.empty(count), np.empty(count))
    for _ in range(NEWTON_STEPS):
        convex, rest, above, below = gained_at(missing, features, room, person, z, change, slopes)
        if not convex:
            return False
        if below <= 0.0:
            return abs(rest) <= 1e-12 * missing
        if move_z((rest + above) / below, features, least, person, z, slopes) <= ROOT_ERROR:
            close_gap(missing, features, person, z, change)
            return True
    return False


@compiled
def common_z(missing: float, free: Mask, room: Array, person: Person) -> float:
    """A start: one z, so one success probability, for all. Small changes are about as 1 / z."""
    own, sign, theta, gain = person
    common = 4.0
    for _ in range(STARTING_STEPS):
        total = 0.0
        for m in range(len(own)):
            if free[m]:
                change, _ = change_at(common, own[m], sign[m], theta[m])
                total += gain[m] * (room[m] if change < 0.0 or change > room[m] else change)
        common = min(max(common * total / missing, 1.0), SMALLEST_CHANGE)
    return common


@compiled
def gained_at(
    missing: float,
    features: Features,
    room: Array,
    person: Person,
    z: Array,
    change: Array,
    slopes: tuple[Array, Array],
) -> tuple[bool, float, float, float]:
    """Write the changes at ``z``, and their log slopes with the derivatives by z to ``slopes``.

    Return whether all are on the convex parts, what is still missing, and numerator and denominator of Newton's step.
    """
    own, sign, theta, gain = person
    free, at_end = features
    rest, above, below = missing, 0.0, 0.0
    for m in range(len(own)):
        if not free[m]:
            continue
        if at_end[m]:
            change[m] = room[m]
            rest -= gain[m] * room[m]
            continue
        change[m], by_z = change_at(z[m], own[m], sign[m], theta[m])
        value, slope = log_slope(z[m], own[m], sign[m], theta[m], gain[m])
        if change[m] < 0.0 or slope >= -1e-9:
            return False, rest, above, below
        slopes[0][m], slopes[1][m] = value, slope
        rest -= gain[m] * change[m]
        above += gain[m] * by_z * value / slope
        below += gain[m] * by_z / slope
    return True, rest, above, below


@compiled
def move_z(
    price: float, features: Features, least: Array, person: Person, z: Array, slopes: tuple[Array, Array]
) -> float:
    """Move every z towards the log ``price``, or to the end of its room and back; return the largest relative move."""
    own, sign, theta, gain = person
    free, at_end = features
    largest = 0.0
    for m in range(len(own)):
        if not free[m]:
            continue
        if at_end[m]:
            value, _ = log_slope(least[m], own[m], sign[m], theta[m], gain[m])
            if value > price:
                at_end[m], z[m], largest = False, least[m] * 1.01, 1.0
            continue
        move = (price - slopes[0][m]) / slopes[1][m]
        move = min(max(move, -0.5 * z[m]), 2.0 * z[m])
        z[m] += move
        largest = max(largest, abs(move) / z[m])
        at_end[m] = z[m] <= least[m]
    return largest


@compiled
def close_gap(missing: float, features: Features, person: Person, z: Array, change: Array) -> None:
    """Write the last changes, and let the one that gains most close the gap that rounding leaves."""
    own, sign, theta, gain = person
    free, at_end = features
    rest, widest = missing, -1
    for m in range(len(own)):
        if free[m]:
            if not at_end[m]:
                change[m], _ = change_at(z[m], own[m], sign[m], theta[m])
                if widest < 0 or gain[m] * change[m] > gain[widest] * change[widest]:
                    widest = m
            rest -= gain[m] * change[m]
    if widest >= 0:
        change[widest] += rest / gain[widest]


# --- the dual, and branch and bound -----------------------------------------------------------------------------------


@compiled
def respond(
    price: float,
    low: Array,
    high: Array,
    person: Person,
    known: Known,
    z: Array,
    change: Array,
    from_root: Mask,
) -> tuple[float, float]:
    """Write every feature's best change in its interval at a log ``price``; return the values' sum, and the gain."""
    own, sign, theta, gain = person
    ends = known.ends
    total, gained, unit = 0.0, 0.0, math.exp(price)
    for m in range(len(own)):
        interval = (low[m], high[m], known.low_loss[m], known.high_loss[m])
        feature = (own[m], sign[m], theta[m], gain[m])
        end = (ends[m, 0], ends[m, 1], ends[m, 2])
        change[m], value, root, from_root[m] = best_change(price, unit * gain[m], interval, end, feature, z[m])
        if root > 0.0:
            z[m] = root
        total += value
        gained += gain[m] * change[m]
    return total, gained


@compiled
def refined(
    missing: float, change: Array, from_root: Mask, room: Array, person: Person, z: Array, plan: Array
) -> float:
    """Write the best plan that keeps the changes which are not ``from_root``; return its loss, infinite without one.

    Where these alone gain too much, the one of the largest loss is made smaller.
    """
    own, sign, theta, gain = person
    rest, dearest, most = missing, -1, 0.0
    for m in range(len(change)):
        plan[m] = change[m]
        if from_root[m]:
            plan[m] = 0.0
            continue
        rest -= gain[m] * change[m]
        loss = loss_of(change[m], own[m], sign[m], theta[m])
        if sign[m] > 0.0 and loss > most:
            dearest, most = m, loss
    if rest > 0.0:
        return total_loss(plan, person) if spread(rest, from_root, room, person, z, plan) else math.inf
    if dearest >= 0:
        plan[dearest] = max(0.0, plan[dearest] + rest / gain[dearest])
    gained = 0.0
    for m in range(len(plan)):
        gained += gain[m] * plan[m]
    return total_loss(plan, person) if gained >= missing - 1e-12 else math.inf


@compiled
def kept(loss: float, change: Array, best: float, plan: Array) -> float:
    """Keep a plan as the best one if its loss is less; return the least loss."""
    if loss < best:
        copy_to(plan, change)
        return loss
    return best


@compiled
def describe(low: Array, high: Array, person: Person, known: Known) -> float:
    """Write what is known of intervals; return their largest gain."""
    own, sign, theta, gain = person
    ends, reach = known.ends, 0.0
    for m in range(len(own)):
        reach += gain[m] * high[m]
        known.low_loss[m] = loss_of(low[m], own[m], sign[m], theta[m])
        known.high_loss[m] = loss_of(high[m], own[m], sign[m], theta[m])
        ends[m, 0], ends[m, 1], ends[m, 2] = end_of(high[m], (own[m], sign[m], theta[m], gain[m]))
    return reach


@compiled
def alike(sides: Sides) -> bool:
    """Whether both sides differ by nothing but changes on the convex parts."""
    below, above, below_free, above_free = sides
    for m in range(len(below)):
        if below_free[m] != above_free[m] or not (below_free[m] or below[m] == above[m]):
            return False
    return True


@compiled
def plan_between(
    missing: float, sides: Sides, room: Array, person: Person, z: Array, change: Array
) -> tuple[float, float]:
    """Write the best plan between sides that are alike; return its loss, and the log price of all its convex parts.

    The price is infinite where no convex part is inside its room.
    """
    own, sign, theta, gain = person
    loss = refined(missing, sides.below, sides.below_free, room, person, z, change)
    for m in range(len(own)):
        if loss < math.inf and sides.below_free[m] and change[m] < room[m]:
            exact, _ = log_slope(z[m], own[m], sign[m], theta[m], gain[m])
            return loss, exact
    return loss, math.inf


@compiled
def bounded(
    task: tuple[float, float, float],
    intervals: tuple[Array, Array],
    room: Array,
    person: Person,
    known: Known,
    roots: tuple[Array, Array],
    sides: Sides,
    plan: Array,
) -> tuple[float, float, float]:
    """Raise the dual's bound until the prices just below and above the required gain meet, or no plan can be better.

    The ``task`` is what is missing, the first log price, and the loss of the best plan. Return the loss of the best
    plan, the last price, and the gain of the side below: infinite when nothing is left to be searched.
    """
    missing, price, best = task
    change, free = np.empty(len(sides.below)), np.empty(len(sides.below), dtype=np.bool_)
    bound, below, above, stride = -math.inf, -math.inf, math.inf, 0.1
    below_bound, above_bound, below_gain, above_gain = 0.0, 0.0, 0.0, 0.0
    for _ in range(DUAL_STEPS):
        value, gained = respond(price, intervals[0], intervals[1], person, known, roots[1], change, free)
        here = math.exp(price) * missing + value
        bound = max(bound, here)
        if bound >= best - OPTIMALITY_GAP:
            return best, price, math.inf
        if gained < missing:
            below, below_bound, below_gain = price, here, gained
            copy_to(sides.below, change)
            copy_to(sides.below_free, free)
        else:
            above, above_bound, above_gain = price, here, gained
            copy_to(sides.above, change)
            copy_to(sides.above_free, free)
        if below == -math.inf or above == math.inf:
            if abs(price) > LARGEST_PRICE:
                # The intervals' lowest ends gain enough, or all of them together hardly do.
                enough = gained >= missing
                return kept(total_loss(change, person), change, best, plan) if enough else best, price, math.inf
            price += stride if gained < missing else -stride
            stride *= 3.0
            continue
        lower, upper = math.exp(below), math.exp(above)
        # Where the tangents of the dual at both prices cross: it is nowhere higher.
        crossing = (above_bound - below_bound + (missing - below_gain) * lower - (missing - above_gain) * upper) / (
            above_gain - below_gain
        )
        highest = below_bound + (missing - below_gain) * (crossing - lower)
        if highest - bound <= 0.25 * OPTIMALITY_GAP or above - below < 1e-12:
            break
        price = math.log(min(max(crossing, lower + 0.01 * (upper - lower)), upper - 0.01 * (upper - lower)))
        if alike(sides):
            loss, exact = plan_between(missing, sides, room, person, roots[0], change)
            best = kept(loss, change, best, plan)
            price = exact if below < exact < above else price
    return best, price, below_gain


@compiled
def best_of_sides(
    missing: float, best: float, sides: Sides, room: Array, person: Person, z: Array, change: Array, plan: Array
) -> float:
    """Keep the side that gains enough, or a plan made of either side, where it is better; return the least loss."""
    best = kept(total_loss(sides.above, person), sides.above, best, plan)
    best = kept(refined(missing, sides.below, sides.below_free, room, person, z, change), change, best, plan)
    return kept(refined(missing, sides.above, sides.above_free, room, person, z, change), change, best, plan)


@compiled
def widest_jump(sides: Sides, gain: Array) -> int:
    """The feature whose change differs most between the sides, by its gain."""
    below, above, widest = sides.below, sides.above, 0
    for m in range(len(gain)):
        if gain[m] * abs(above[m] - below[m]) > gain[widest] * abs(above[widest] - below[widest]):
            widest = m
    return widest


@compiled
def least_loss(missing: float, room: Array, person: Person, plan: Array) -> bool:
    """Write the changes of least loss that gain what is missing to ``plan``; say whether that is proven.

    All ``room`` together is enough.
    """
    own, sign, theta, gain = person
    count = len(own)
    z, root_z, change, free = np.empty(count), np.full(count, SMALLEST_CHANGE), np.empty(count), np.ones(count) > 0.0
    known = Known(np.empty(count), np.empty(count), np.empty((count, 3)))
    low, high, start = np.empty((MOST_OPEN + 2, count)), np.empty((MOST_OPEN + 2, count)), np.zeros(MOST_OPEN + 2)
    below, above = np.empty(count), np.empty(count)
    sides = Sides(below, above, np.ones(count) > 0.0, np.ones(count) > 0.0)
    low[0] = 0.0
    copy_to(high[0], room)
    copy_to(plan, room)
    best = total_loss(room, person)
    # Step 1: the convex parts alone.
    if spread(missing, free, room, person, z, change):
        best = kept(total_loss(change, person), change, best, plan)
        for m in range(count):
            root_z[m] = z[m]
            if change[m] < room[m]:
                start[0], _ = log_slope(z[m], own[m], sign[m], theta[m], gain[m])
    # Step 2: bound, and split where a feature jumps, until nothing better is possible.
    waiting = 1
    for _ in range(MOST_BOUNDED):
        if waiting == 0:
            return True
        waiting -= 1
        lows, highs = low[waiting].copy(), high[waiting].copy()
        if describe(lows, highs, person, known) < missing - 1e-12:
            continue
        best, price, below_gain = bounded(
            (missing, start[waiting], best), (lows, highs), room, person, known, (z, root_z), sides, plan
        )
        if below_gain == math.inf:
            continue
        best = best_of_sides(missing, best, sides, room, person, z, change, plan)
        widest = widest_jump(sides, gain)
        cut = below[widest] + (missing - below_gain) / gain[widest]
        if cut <= highs[widest]:
            copy_to(change, below)
            change[widest] = cut
            best = kept(total_loss(change, person), change, best, plan)
        jump = above[widest] - below[widest]
        if gain[widest] * abs(jump) <= 1e-9 * missing:
            continue
        if waiting >= MOST_OPEN:
            return False
        cut = min(max(cut, below[widest] + 0.05 * jump), above[widest] - 0.05 * jump)
        for part in (waiting, waiting + 1):
            copy_to(low[part], lows)
            copy_to(high[part], highs)
            start[part] = price
        low[waiting, widest] = high[waiting + 1, widest] = cut
        waiting += 2
    return waiting == 0


@compiled
def plan_people(missing: Array, people: Array, room: Array, model: tuple[Array, Array, Array], changes: Array) -> int:
    """Write each person's changes (n, D) of the largest joint success; return the number of those without a proof.

    ``model`` has the sign, theta and gain of each column.
    """
    sign, theta, gain = model
    columns, unproven = len(gain), 0
    own, signs, thetas, gains = np.empty(columns), np.empty(columns), np.empty(columns), np.empty(columns)
    rooms, plan, where = np.empty(columns), np.empty(columns), np.empty(columns, dtype=np.intp)
    for i in range(len(missing)):
        count, reach = 0, 0.0
        for d in range(columns):
            if room[i, d] > 0.0:
                own[count], signs[count], thetas[count], gains[count] = people[i, d], sign[d], theta[d], gain[d]
                rooms[count], where[count] = room[i, d], d
                reach += gain[d] * room[i, d]
                count += 1
        person = Person(own[:count], signs[:count], thetas[:count], gains[:count])
        if reach <= missing[i]:
            copy_to(plan, rooms[:count])
        else:
            if not least_loss(missing[i], rooms[:count], person, plan[:count]):
                unproven += 1
            trim(missing[i], person, plan[:count])
        for m in range(count):
            changes[i, where[m]] = plan[m]
    return unproven


@compiled
def trim(missing: float, person: Person, plan: Array) -> None:
    """Take back what a plan gains too much, where a smaller change is never less likely."""
    sign, gain = person.sign, person.gain
    surplus = -missing
    for m in range(len(plan)):
        surplus += gain[m] * plan[m]
    for m in range(len(plan)):
        if surplus <= 0.0:
            break
        if sign[m] > 0.0:
            back = min(plan[m], surplus / gain[m])
            plan[m] -= back
            surplus -= gain[m] * back

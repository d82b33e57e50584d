"""The frontier of cost and worst-case margin of a linear score, one person at a time, in compiled loops.

The worst case of the log odds w x + b over all models within alpha in the norm p is concave in x:

    z(x) = w x + b - alpha ||(x, floor)||_q,   1/p + 1/q = 1

A point that maximises z - rho cost for some rho >= 0 is on the frontier, and every optimum lies on it or between two of
its points. So both forms of the problem come down to the one number rho. At a given rho:

* q = 1: the features separate.
* q = inf: the features are clipped at one level, where the sum of their slopes meets alpha.
* else: ||x|| is the least over n of (||x||^q / n^(q-1) + (q-1) n) / q, and at a given n the features separate. So n
  solves one scalar equation; where the set of free features is known, in closed form.

The frontier is concave. A chord between two of its points bounds the search: the next rho is the chord's slope, where
the frontier is piecewise linear, and otherwise that of the false position of the equation of the form.
"""

from __future__ import annotations

import math

import numpy as np

from onward.agents.candidates.contract import Array, Mask
from onward.agents.compiled import compiled

TOLERANCE = 1e-13
"""How far the frontier may rise above the last chord, in log odds."""
SOLVED = 1e-13
"""Log odds by which the equation for rho may be missed."""
NARROW = 6e-15
"""The relative width of an interval of rho that is no longer divided: three times the least step."""
MOST_STEPS = 200
LARGEST_RATIO, LARGEST_LOG = 1e100, 230.0

Model = tuple[Array, Array, Array, Mask, tuple[float, float, float]]
"""Weights and cost of a unit of change, (1, D) or (n, D); bias (n,); which columns count in the norm (D,); and the
numbers alpha, q and floor."""

Line = tuple[Array, Array, float, Mask, float, float, float]
"""A person's own part of it: weights and cost (D,), bias, which columns count, alpha, q and floor."""


@compiled
def copy_to(copy: Array, array: Array) -> None:
    """Write an array over another of its size. An assignment to a slice is compiled with all that says what is wrong
    about sizes, which takes seconds."""
    for d in range(len(array)):
        copy[d] = array[d]


@compiled
def solve_prices(people: Array, lowest: Array, highest: Array, model: Model, trade: float, out: Array) -> None:
    """Minimise log(1 + exp(-z)) + trade cost; write targets (n, D) to ``people``, and (n, 4) numbers to ``out``.

    These are the worst-case log odds, the cost, the objective and a lower bound of the least objective.
    """
    weights, cost, bias, counts, (alpha, q, floor) = model
    low, high, witness = np.empty(people.shape[1]), np.empty(people.shape[1]), np.empty(people.shape[1])
    for i in range(len(people)):
        w, c = weights[min(i, len(weights) - 1)], cost[min(i, len(cost) - 1)]
        score = (w, c, bias[i], counts, alpha, q, floor)
        own = people[i].copy()
        z = margin(own, score)
        # No optimum costs more than the whole objective without changes.
        most = 1.0000001 * softplus(-z) / trade
        for d in range(len(own)):
            low[d], high[d] = max(lowest[i, d], own[d] - most / c[d]), min(highest[i, d], own[d] + most / c[d])
        rho = search(own, low, high, score, (trade, math.nan), people[i], witness)
        z, spent = margin(people[i], score), spending(people[i], own, c)
        # Any share gives a bound. That of the target is best at a corner of the frontier, the other where it is smooth.
        share = sigmoid(-z)
        bound = entropy(share) - share * supremum(people[i], own, low, high, score, trade / share)
        if rho > trade and softplus(-z) + trade * spent - bound > TOLERANCE:
            share = trade / rho
            other = entropy(share) - share * supremum(witness, own, low, high, score, rho)
            bound = max(bound, other)
        out[i, 0], out[i, 1], out[i, 2], out[i, 3] = z, spent, softplus(-z) + trade * spent, bound


@compiled
def solve_margins(people: Array, lowest: Array, highest: Array, model: Model, required: Array, out: Array) -> None:
    """Minimise cost where z >= ``required`` (n,); write targets (n, D) to ``people``, and (n, 4) numbers to ``out``.

    These are the worst-case log odds, the cost, a lower bound of the least cost, and an upper bound of the log odds
    that can be reached. Where the required ones cannot, the target is the point that reaches most. Bounds are finite.
    """
    weights, cost, bias, counts, (alpha, q, floor) = model
    witness = np.empty(people.shape[1])
    for i in range(len(people)):
        w, c = weights[min(i, len(weights) - 1)], cost[min(i, len(cost) - 1)]
        score = (w, c, bias[i], counts, alpha, q, floor)
        own = people[i].copy()
        rho = search(own, lowest[i], highest[i], score, (math.nan, required[i]), people[i], witness)
        z, spent = margin(people[i], score), spending(people[i], own, c)
        out[i, 0], out[i, 1], out[i, 2], out[i, 3] = z, spent, 0.0, math.inf
        if rho > 0.0:
            most = supremum(witness, own, lowest[i], highest[i], score, rho)
            out[i, 2] = max(0.0, (required[i] - most) / rho)
        elif rho == 0.0:
            out[i, 2], out[i, 3] = math.inf, supremum(people[i], own, lowest[i], highest[i], score, 0.0)


@compiled
def search(
    own: Array, low: Array, high: Array, score: Line, aim: tuple[float, float], target: Array, witness: Array
) -> float:
    """Write the optimum to ``target`` (D,), and return the rho of its part of the frontier.

    That is 0 where the aim is out of reach, and -1 where nothing needs to change. A maximiser of z - rho cost goes to
    ``witness`` (D,). ``aim`` is (trade, required), one of them NaN.
    """
    w, c, _, _, alpha, q, _ = score
    trade, required = aim
    near, far, new = own.copy(), own.copy(), own.copy()
    copy_to(target, own)
    copy_to(witness, own)
    z_near, cost_near = margin(own, score), 0.0
    largest = 1e-300
    for d in range(len(own)):
        largest = max(largest, (abs(w[d]) + alpha) / c[d])
    least = 0.0 if math.isnan(trade) else trade / sigmoid(-z_near)
    if least >= largest or z_near >= required:
        return -1.0
    maximise(least, own, low, high, score, far)
    z_far, cost_far = margin(far, score), spending(far, own, c)
    copy_to(witness, far)
    if z_far < required:
        copy_to(target, far)
        return 0.0
    straight = q == 1.0 or math.isinf(q) or alpha == 0.0
    rho_near, rho_far, rho = largest, max(least, 1e-12 * largest), least
    old, miss_old, miss = rho_near, missed(rho_near, z_near, aim), missed(least, z_far, aim)
    other, miss_other, new_rho = old, miss_old, rho_far
    for _ in range(MOST_STEPS):
        if straight:
            rise = (z_far - z_near) - rho_far * (cost_far - cost_near)
            if cost_far <= cost_near or rise <= TOLERANCE * (1.0 + abs(z_far)):
                break
            rho = (z_far - z_near) / (cost_far - cost_near)
        else:
            if rho_near - rho_far <= NARROW * rho_near:
                break
            rho = zero_between(new_rho, other, old, miss, miss_other, miss_old)
        maximise(rho, own, low, high, score, new)
        z, spent = margin(new, score), spending(new, own, c)
        if straight and z - rho * spent <= z_near - rho * cost_near + TOLERANCE * (1.0 + abs(z)):
            break
        before, miss_before, miss = new_rho, miss, missed(rho, z, aim)
        if (miss > 0.0) == (miss_before > 0.0):
            old, miss_old = before, miss_before
        else:
            old, miss_old, other, miss_other = other, miss_other, before, miss_before
        new_rho = rho
        if miss > 0.0:
            copy_to(near, new)
            z_near, cost_near, rho_near = z, spent, rho
        else:
            copy_to(far, new)
            z_far, cost_far, rho_far = z, spent, rho
        if not straight and abs(miss) <= SOLVED:
            break
    between(near, far, own, score, aim, target)
    copy_to(witness, target if straight else new)
    return rho


@compiled
def zero_between(a: float, b: float, c: float, fa: float, fb: float, fc: float) -> float:
    """Where a function of log rho may be 0: between a, the last point, and b, of the other sign; c is the one before.

    Inverse quadratic interpolation where it is safe, else the middle (Chandrupatla 1997).
    """
    la, lb, lc = math.log(a), math.log(b), math.log(c)
    share = 0.5
    if lc != lb and fc != fb and fc != fa:
        chi, phi = (la - lb) / (lc - lb), (fa - fb) / (fc - fb)
        if phi * phi < chi and (1.0 - phi) * (1.0 - phi) < 1.0 - chi:
            share = fa / (fb - fa) * fc / (fb - fc) + (lc - la) / (lb - la) * fa / (fc - fa) * fb / (fc - fb)
    least = min(0.5, NARROW / 3.0 / max(abs(lb - la), 1e-300))
    return math.exp(la + min(max(share, least), 1.0 - least) * (lb - la))


@compiled
def missed(rho: float, z: float, aim: tuple[float, float]) -> float:
    """Above 0 where the optimum costs more than a point of the frontier with this slope."""
    trade, required = aim
    if math.isnan(trade):
        return required - z
    return math.log(rho / trade) - softplus(z)


@compiled
def between(near: Array, far: Array, own: Array, score: Line, aim: tuple[float, float], target: Array) -> None:
    """Write the optimum between two points of the frontier to ``target`` (D,)."""
    c = score[1]
    trade, required = aim
    z_near, z_far = margin(near, score), margin(far, score)
    cost_near, cost_far = spending(near, own, c), spending(far, own, c)
    if not (cost_far > cost_near and z_far > z_near):
        copy_to(target, far)
        return
    chord = (z_far - z_near) / (cost_far - cost_near)
    if math.isnan(trade):
        share = (required - z_near) / (z_far - z_near)
        step = 1e-16
        while True:
            point_between(near, far, min(share, 1.0), target)
            if share >= 1.0 or margin(target, score) >= required:
                break
            share, step = share + step, 2.0 * step
        if share >= 1.0:
            copy_to(target, far)
        return
    ratio = min(trade / chord, 1.0 - 1e-16)
    wanted = math.log1p(-ratio) - math.log(ratio)
    share = min(1.0, max(0.0, (wanted - z_near) / (z_far - z_near)))
    point_between(near, far, share, target)
    best = softplus(-margin(target, score)) + trade * spending(target, own, c)
    if softplus(-z_near) + trade * cost_near < best:
        best = softplus(-z_near) + trade * cost_near
        copy_to(target, near)
    if softplus(-z_far) + trade * cost_far < best:
        copy_to(target, far)


@compiled
def point_between(near: Array, far: Array, share: float, target: Array) -> None:
    """Write the point at a share of the way to ``target`` (D,), not an ulp beyond the ends."""
    for d in range(len(near)):
        x = near[d] + share * (far[d] - near[d])
        target[d] = max(min(near[d], far[d]), min(max(near[d], far[d]), x))


@compiled
def maximise(rho: float, own: Array, low: Array, high: Array, score: Line, target: Array) -> None:
    """Write the point that maximises z - rho cost within the bounds to ``target`` (D,)."""
    w, c, _, counts, alpha, q, _ = score
    for d in range(len(own)):
        if not counts[d] or alpha == 0.0:
            target[d] = best_of_line(w[d], 0.0, rho * c[d], own[d], low[d], high[d])
        elif q == 1.0:
            target[d] = best_of_line(w[d], alpha, rho * c[d], own[d], low[d], high[d])
    if alpha > 0.0 and math.isinf(q):
        clip_at_level(rho, own, low, high, score, target)
    elif alpha > 0.0 and q > 1.0:
        solve_norm(rho, own, low, high, score, target)


@compiled
def best_of_line(w: float, alpha: float, price: float, own: float, low: float, high: float) -> float:
    """The x that maximises w x - alpha |x| - price |x - own|."""
    up, down = w - price, -w - price
    if own >= 0.0:
        if up > alpha:
            return high
        if down > alpha:
            return low
        return max(low, min(own, 0.0)) if down > -alpha else own
    if down > alpha:
        return low
    if up > alpha:
        return high
    return min(high, 0.0) if up > -alpha else own


@compiled
def clip_at_level(rho: float, own: Array, low: Array, high: Array, score: Line, target: Array) -> None:
    """Write the best point for q = inf: the best without a norm, clipped at the level that is worth its alpha."""
    w, c, _, counts, alpha, _, floor = score
    level, slope, events = floor, -alpha, 0
    place, drop = np.empty(2 * len(own)), np.empty(2 * len(own))
    for d in range(len(own)):
        if counts[d]:
            target[d] = best_of_line(w[d], 0.0, rho * c[d], own[d], low[d], high[d])
            level = max(level, low[d], -high[d])
    for d in range(len(own)):
        x = target[d]
        if counts[d] and abs(x) > level:
            side = 1.0 if x > 0.0 else -1.0
            inner, gain = side * own[d], side * w[d] - rho * c[d]
            if inner >= abs(x):
                gain += 2.0 * rho * c[d]
            elif inner > level:
                place[events], drop[events] = inner, 2.0 * rho * c[d]
                events += 1
                slope += 2.0 * rho * c[d]
            place[events], drop[events] = abs(x), gain
            events += 1
            slope += gain
    if slope > 0.0:
        for event in np.argsort(place[:events]):
            slope -= drop[event]
            level = place[event]
            if slope <= 0.0:
                break
    for d in range(len(own)):
        if counts[d]:
            target[d] = max(-level, min(level, target[d]))


@compiled
def solve_norm(rho: float, own: Array, low: Array, high: Array, score: Line, target: Array) -> None:
    """Write the best point for 1 < q < inf: the columns that are free are proportional to the norm n.

    The search for n begins at the norm of ``target``.
    """
    w, c, _, counts, alpha, q, floor = score
    rising, falling = np.empty(len(own)), np.empty(len(own))
    exponent = 1.0 / (q - 1.0)
    smallest, largest = 0.0, floor
    for d in range(len(own)):
        if counts[d]:
            rising[d] = signed_power((w[d] - rho * c[d]) / alpha, exponent)
            falling[d] = signed_power((w[d] + rho * c[d]) / alpha, exponent)
            smallest = max(smallest, low[d], -high[d])
            largest += max(abs(low[d]), abs(high[d]))
    smallest = max(smallest, floor)
    n = max(smallest, min(largest, norm(target, counts, q, floor)))
    if n == 0.0:
        n = largest
    for _ in range(MOST_STEPS):
        if n <= 1e-200:
            break
        free, fixed = 0.0, power(floor / n, q)
        for d in range(len(own)):
            if counts[d]:
                x = min(max(own[d], n * rising[d]), n * falling[d])
                inside = max(low[d], min(high[d], x))
                target[d] = inside
                size = power(abs(inside) / n, q)
                if x != own[d] and inside == x:
                    free += size
                else:
                    fixed += size
        smallest, largest = (n, largest) if free + fixed > 1.0 else (smallest, n)
        following = n * root(fixed / (1.0 - free), q) if free < 1.0 else math.inf
        if abs(following - n) <= 4e-16 * n or largest - smallest <= 4e-16 * largest:
            break
        n = max(following, 1e-8 * n) if smallest <= following <= largest else middle(smallest, largest)
    if n <= 1e-200:
        for d in range(len(own)):
            if counts[d]:
                target[d] = 0.0


@compiled
def middle(low: float, high: float) -> float:
    """A number between two: the geometric mean where they are far apart."""
    return math.sqrt(low * high) if 0.0 < 4.0 * low < high else 0.5 * (low + high)


@compiled
def supremum(x: Array, own: Array, low: Array, high: Array, score: Line, rho: float) -> float:
    """An upper bound of z - rho cost within the bounds, from the model that is worst at x.

    Under one model within alpha the columns separate, so its maximum is exact. No point is better in the worst case.
    Where the worst model is not unique, that with the least bound is taken, column by column.
    """
    w, c, bias = score[:3]
    shift = np.zeros(len(own))
    total = bias + worst_model(x, own, low, high, score, rho, shift)
    for d in range(len(own)):
        weight, price = w[d] + shift[d], rho * c[d]
        best = weight * own[d]
        best = max(best, weight * low[d] - price * (own[d] - low[d]))
        total += max(best, weight * high[d] - price * (high[d] - own[d]))
    return total


@compiled
def worst_model(x: Array, own: Array, low: Array, high: Array, score: Line, rho: float, shift: Array) -> float:
    """Write the change of the weights that is worst at x to ``shift`` (D,); return what it takes from the bias."""
    w, c, _, counts, alpha, q, floor = score
    if alpha == 0.0:
        return 0.0
    if q == 1.0:
        for d in range(len(own)):
            if counts[d]:
                stay = at_zero(w[d], rho * c[d], own[d], low[d], high[d]) - w[d]
                shift[d] = -alpha if x[d] > 0.0 else alpha if x[d] < 0.0 else min(max(stay, -alpha), alpha)
        return -alpha * floor
    size = norm(x, counts, q, floor)
    if math.isinf(q):
        return share_out(x, own, high, low, score, rho, size, shift)
    if size == 0.0:
        total = 0.0
        p = q / (q - 1.0)
        for d in range(len(own)):
            if counts[d]:
                shift[d] = at_zero(w[d], rho * c[d], own[d], low[d], high[d]) - w[d]
                total += power(abs(shift[d]) / alpha, p)
        if total > 1.0:
            shift /= total ** (1.0 / p)
        return 0.0
    for d in range(len(own)):
        if counts[d]:
            shift[d] = -alpha * signed_power(x[d] / size, q - 1.0)
    return -alpha * power(floor / size, q - 1.0) * floor


@compiled
def at_zero(w: float, price: float, own: float, low: float, high: float) -> float:
    """The weight nearest to w under which 0 is a column's best."""
    least = -math.inf if low >= 0.0 else price if own < 0.0 else -price
    largest = math.inf if high <= 0.0 else -price if own > 0.0 else price
    return min(max(w, least), largest)


@compiled
def share_out(
    x: Array, own: Array, high: Array, low: Array, score: Line, rho: float, size: float, shift: Array
) -> float:
    """Share alpha out among the columns at the level ``size``: to each what makes x its best, first of all."""
    w, c, _, counts, alpha, _, floor = score
    near = size * (1.0 - 1e-9)
    left = alpha
    more = np.zeros(len(own))
    for d in range(len(own)):
        if counts[d] and size == 0.0:
            stay = at_zero(w[d], rho * c[d], own[d], low[d], high[d]) - w[d]
            shift[d] = min(max(stay, -left), left)
            left -= abs(shift[d])
        elif counts[d] and abs(x[d]) >= near:
            side = 1.0 if x[d] > 0.0 else -1.0
            outward, kept = side * w[d] - rho * c[d], side * w[d] + rho * c[d]
            end = high[d] if side > 0.0 else -low[d]
            start = low[d] if side > 0.0 else -high[d]
            inner, at = side * own[d], abs(x[d])
            least = outward if at >= inner else kept
            largest = kept if at <= inner else outward
            if at >= end:
                least = 0.0
            if at <= start:
                largest = alpha
            least = min(max(least, 0.0), left)
            shift[d], left, more[d] = -side * least, left - least, max(largest - least, 0.0)
    for d in range(len(own)):
        if more[d] > 0.0:
            extra = min(more[d], left)
            shift[d] -= extra if x[d] > 0.0 else -extra
            left -= extra
    return -left * floor if floor >= near else 0.0


@compiled
def margin(x: Array, score: Line) -> float:
    """The worst-case log odds of x (D,)."""
    w, _, bias, counts, alpha, q, floor = score
    total = 0.0
    for d in range(len(x)):
        total += w[d] * x[d]
    total += bias
    return total - alpha * norm(x, counts, q, floor) if alpha > 0.0 else total


@compiled
def norm(x: Array, counts: Mask, q: float, floor: float) -> float:
    """The q-norm of (x, floor) over the columns that count."""
    largest, total = floor, floor
    for d in range(len(x)):
        if counts[d]:
            largest = max(largest, abs(x[d]))
            total += abs(x[d])
    if q == 1.0:
        return total
    if math.isinf(q) or largest == 0.0:
        return largest
    total = power(floor / largest, q)
    for d in range(len(x)):
        if counts[d]:
            total += power(abs(x[d]) / largest, q)
    return largest * root(total, q)


@compiled
def spending(x: Array, own: Array, cost: Array) -> float:
    """The cost of moving from ``own`` to x, (D,) each."""
    total = 0.0
    for d in range(len(x)):
        total += cost[d] * abs(x[d] - own[d])
    return total


@compiled
def power(size: float, exponent: float) -> float:
    """A size, 0 or more, to a power."""
    if exponent == 2.0:
        return size * size
    if exponent == 0.5:
        return math.sqrt(size)
    if exponent == 1.5:
        return size * math.sqrt(size)
    return size if exponent == 1.0 else size**exponent


@compiled
def root(size: float, q: float) -> float:
    """The q-th root of a size, 0 or more."""
    return math.sqrt(size) if q == 2.0 else size ** (1.0 / q)


@compiled
def signed_power(x: float, exponent: float) -> float:
    """The power of the absolute value, with the sign."""
    # Up to 1e100, without an overflow on the way.
    size = abs(x)
    if exponent != 1.0:
        size = power(size, exponent) if size <= 1.0 or exponent * math.log(size) < LARGEST_LOG else LARGEST_RATIO
    return -size if x < 0.0 else size


@compiled
def softplus(x: float) -> float:
    """log(1 + exp(x))."""
    return max(x, 0.0) + math.log1p(math.exp(-abs(x)))


@compiled
def sigmoid(x: float) -> float:
    """1 / (1 + exp(-x)), at least 1e-300."""
    return max(1.0 / (1.0 + math.exp(-x)) if x >= 0.0 else math.exp(x) / (1.0 + math.exp(x)), 1e-300)


@compiled
def entropy(share: float) -> float:
    """The entropy of a coin, in nats."""
    rest = 1.0 - share
    return -share * math.log(share) - (rest * math.log(rest) if rest > 0.0 else 0.0)

"""The chance in people's lives, drawn beforehand: it does not depend on what anybody is answered."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...agents.arrays import Array
from .settings import Settings

Days = NDArray[np.int64]


class Draws(NamedTuple):
    """What decides the attempts of each person, shape (people, attempts) each.

    ``act``, ``cheapest``, ``complete`` and ``heed`` are uniform on [0, 1) and compared with the setting's probability.
    ``option`` picks among several options and ``left_out`` among the changes of one, both uniform on [0, 1).
    ``carrying`` and ``waiting`` are numbers of days.
    """

    act: Array
    cheapest: Array
    complete: Array
    heed: Array
    option: Array
    left_out: Array
    carrying: Days
    waiting: Days


def draw(settings: Settings, people: int, seed: int) -> Draws:
    """The draws of ``people`` people."""
    shape = (people, settings.attempts)
    generators = [np.random.default_rng([seed, kind]) for kind in range(len(Draws._fields))]
    act, cheapest, complete, heed, option, left_out = (generator.random(shape) for generator in generators[:6])
    means = (settings.carrying_mean_days, settings.waiting_mean_days)
    carrying, waiting = (
        np.minimum(settings.soonest_days + generator.exponential(mean, shape).astype(np.int64), settings.latest_days)
        for generator, mean in zip(generators[6:], means, strict=True)
    )
    return Draws(act, cheapest, complete, heed, option, left_out, carrying, waiting)

"""Methods on people: the measures of every set."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from .data import DataSet, Rows
from .methods import SIZE, Method, Subject
from .metrics import Measures, measure

Played = Mapping[str, Sequence[Measures]]
"""The measures of each person's set, by the name of the method."""


def play(
    data: DataSet, people: Iterator[Subject], methods: Mapping[str, Method], size: int = SIZE, seed: int = 0
) -> tuple[Played, dict[str, float]]:
    """The measures of all sets, and the processor seconds of a person, by method."""
    played: dict[str, list[Measures]] = {name: [] for name in methods}
    seconds = dict.fromkeys(methods, 0.0)
    for subject in people:
        for place, (name, method) in enumerate(methods.items()):
            random = np.random.default_rng([seed, subject.number, place])
            started = time.process_time()
            rows = method(subject, random)
            seconds[name] += time.process_time() - started
            played[name].append(_measured(data, subject, rows, size))
    count = max(1, max(map(len, played.values()), default=1))
    return played, {name: total / count for name, total in seconds.items()}


def _measured(data: DataSet, subject: Subject, rows: Rows, size: int) -> Measures:
    return measure(data, subject.person, rows, subject.hidden.costs, subject.costs, size)

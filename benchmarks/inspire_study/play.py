"""Methods on people: the measures of every set."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from onward.benchmarks.face import progress

from .data import DataSet, Rows
from .methods import SIZE, Method, Stored, Subject
from .metrics import Measures, measure

Played = Mapping[str, Sequence[Measures]]
"""The measures of each person's set, by the name of the method."""


SHOWN_EVERY = 25
"""People between two lines of progress."""


def play(
    data: DataSet, people: Iterator[Subject], methods: Mapping[str, Method], size: int = SIZE, seed: int = 0
) -> tuple[Played, dict[str, float]]:
    """The measures of all sets, and the processor seconds of a person, by method.

    The set of the first person is made twice: loops are compiled at their first call, which is not timed.
    """
    played: dict[str, list[Measures]] = {name: [] for name in methods}
    seconds = dict.fromkeys(methods, 0.0)
    for count, subject in enumerate(people):
        for place, (name, method) in enumerate(methods.items()):
            random = np.random.default_rng([seed, subject.number, place])
            if count == 0:
                method(subject, np.random.default_rng(seed))
            started = time.process_time()
            rows = method(subject, random)
            seconds[name] += time.process_time() - started
            played[name].append(_measured(data, subject, rows, size))
        if (count + 1) % SHOWN_EVERY == 0:
            progress(f"{data.name}: {count + 1} people")
    for name, method in methods.items():
        seconds[name] = (method.seconds if isinstance(method, Stored) else seconds[name]) / max(1, len(played[name]))
    return played, seconds


def _measured(data: DataSet, subject: Subject, rows: Rows, size: int) -> Measures:
    return measure(data, subject.person, rows, subject.hidden.costs, subject.costs, size)

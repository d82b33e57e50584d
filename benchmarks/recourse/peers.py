"""The generators beside peers: the same people, spec and model."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Sequence

import numpy as np

from onward.agents.candidates import Space, registry
from onward.agents.candidates.search import Search
from onward.agents.costs import L1
from onward.agents.goals import ThresholdGoal
from onward.agents.objective import Objective
from onward.benchmarks.face import Row, progress
from onward.benchmarks.peers.contract import Answer
from onward.benchmarks.peers.process import Files, Kind, PeerError, PeerProcess
from onward.benchmarks.recourse.cases import Case, Options, cheapest, mean, options_of
from onward.benchmarks.recourse.figures import SEPARATOR, figures, row
from onward.benchmarks.recourse.rules import broken_rules

GENERATORS = ("search", "adapted")
OPTIONS = 3
"""The most options of a peer for a person."""
PEERS = tuple(
    Kind(f"DiCE {method}", "onward.benchmarks.peers.dice", {"method": method, "count": OPTIONS}, "dice")
    for method in ("random", "genetic", "kdtree")
)
AIM_TIMES_FASTER = 20.0


def beside_peers(
    title: str, space: Space, case: Case, peers: Sequence[Kind], people: int, patience_seconds: float
) -> Iterator[Row]:
    """The figures of the generators and of every peer, of the first ``people``."""
    case = case._replace(people=case.people[:people])
    title = f"{title}, {len(case.people)} people beside DiCE"
    search = options_of(Search, space, case)
    for name in GENERATORS:
        found = search if name == "search" else options_of(registry[name], space, case)
        yield from figures(title, name, case, found)
        made = (
            registry[name]
            .build(space, case.instances, Objective(L1()))
            .under(case.score, ThresholdGoal(0.5))
            .propose(case.people)
        )
        yield _broken_rules(title, name, _broken(case, space, made.people, made.points[made.point]), len(made.people))
    for kind in peers:
        try:
            with PeerProcess(kind, _files(case), patience_seconds) as peer:
                answer = peer.ask(case.people, np.full(len(case.people), 0.5))
        except PeerError as error:
            progress(str(error))
        else:
            yield from _rows(title, kind.title, case, space, answer, search)


def _rows(title: str, line: str, case: Case, space: Space, answer: Answer, search: Options) -> Iterator[Row]:
    """What a peer returned and the model accepts, as the search's options are accepted."""
    whose, targets, seconds = answer
    accepted = case.score(targets) > 0.5 if len(targets) else np.zeros(0, dtype=bool)
    whose, targets = whose[accepted], targets[accepted]
    theirs = cheapest(case.source.codec, case.people, whose, targets, seconds)
    broken = _broken(case, space, whose, targets)
    progress(f"{title}, {line}: {len(targets)} options, broken rules {dict(broken)}, {seconds:.1f} s")
    yield from figures(title, line, case, theirs)
    yield _broken_rules(title, line, broken, len(targets))
    _, here, there = np.intersect1d(search.people, theirs.people, return_indices=True)
    if len(here):
        costs = mean(theirs.cost[there]), mean(search.cost[here])
        yield row(title, line, "cost / search's", costs[0] / costs[1] if costs[1] else math.inf, "x")
    times = SEPARATOR.join((title, line, "CPU / search's"))
    yield Row(times, seconds / search.seconds, "x", aim=AIM_TIMES_FASTER)


def _broken_rules(title: str, line: str, broken: Counter[str], options: int) -> Row:
    return row(title, line, "broken rules an option", broken.total() / max(1, options))


def _broken(case: Case, space: Space, whose: np.ndarray, targets: np.ndarray) -> Counter[str]:
    most, codec = space.max_changes or len(space.mutable), case.source.codec
    pairs = zip(whose.tolist(), targets, strict=True)
    return sum((broken_rules(codec, case.people[i], target, most) for i, target in pairs), Counter())


def _files(case: Case) -> Files:
    """The model and the rows that it was fitted on; numbers may be what they are in these."""
    table = case.source.table
    rows = table.X[case.fitted]
    codes = case.source.codec.codes(rows)
    return Files(
        case.source.spec, case.estimator, rows, table.labels[case.fitted], codes.min(axis=0), codes.max(axis=0)
    )

"""Peers as the recommenders of a competition, beside the default in the same episodes.

DiCE takes about a tenth of a second a plan, and the default goal asks for everybody's plans at seven scores. So the
people of both are told the goals of ``GOAL``, which asks for no plan. Its offset needs some rounds: the second half of
an episode counts.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from onward.benchmarks.competition import paper
from onward.benchmarks.competition.measures import GOALS, Measured, Trials
from onward.benchmarks.competition.plans import DEFAULT
from onward.benchmarks.competition.rows import episodes_row
from onward.benchmarks.face import Row, progress
from onward.benchmarks.peers.process import Files, Kind, PeerError, PeerProcess, installed
from onward.environments.competition import CompetitionPeople, CompetitionRules, PracticeRecommender

Floats = NDArray[np.float64]

GOAL = "conformal + offset"
PEERS = tuple(
    Kind(f"DiCE {method}", "onward.benchmarks.peers.dice", {"method": method, "count": 1}, "dice")
    for method in ("random", "genetic")
)
BETAS = (0.05, 0.01)
PATIENCE_SECONDS = 5.0
KNOWN_PEOPLE = 2000
DECIMALS = 2
"""Of the features of the people that a peer knows: DiCE takes the step of its search for sparser changes from them."""
SPEC = """program: competition
features:
{features}
label: {{name: label}}
model: {{manifest: model/manifest.json, threshold: 0.5}}
"""
FEATURE = "  - {{name: x{number}, type: continuous, bounds: [0, 1], mutable: any}}"


@dataclass
class Count:
    """How many plans were asked for and found, in how many seconds of CPU."""

    asked: int = 0
    found: int = 0
    seconds: float = 0.0


def beside_peers(trials: Trials) -> Iterator[Row]:
    """The figures of the peers and of the default recommender, in one episode of each world."""
    peers, half = installed(PEERS), trials.rounds // 2
    for number, beta in enumerate(BETAS if peers else ()):
        ours = trials.measure(CompetitionRules(beta=beta), goal=GOALS[GOAL], planner=DEFAULT, first_round=half)
        yield episodes_row(f"{DEFAULT}, {GOAL}, beta={beta:g} RF", ours.feasibility)
        yield episodes_row(f"{DEFAULT}, {GOAL}, beta={beta:g} RR", ours.reliability, reference=paper.NOMINAL)
        for kind in peers:
            count = Count()
            try:
                theirs = _measured(kind, trials, CompetitionRules(beta=beta), count)
            except PeerError as error:
                progress(str(error))
            else:
                yield from _rows(f"{kind.title}, {GOAL}, beta={beta:g}", theirs, count, paper.HYBRIDS["DiCE"][number])


def _rows(name: str, found: Measured, count: Count, reference: float) -> Iterator[Row]:
    error, cost = paper.TABLE_1["DiCE"]
    yield episodes_row(f"{name} RF", found.feasibility, reference=reference)
    yield episodes_row(f"{name} RR", found.reliability, reference=paper.NOMINAL)
    yield episodes_row(f"{name} score error", found.error, reference=error, better="lower")
    yield episodes_row(f"{name} cost", found.cost, reference=cost, better="lower")
    yield episodes_row(f"{name} Gini", found.gini, reference=paper.GINI["DiCE"], better="lower")
    yield Row(f"{name} plans found", count.found / count.asked, "share")
    yield Row(f"{name} a plan", count.seconds / count.asked * 1e6, "us", better="lower")


def _measured(kind: Kind, trials: Trials, settings: CompetitionRules, count: Count) -> Measured:
    """The measures of a peer's plans, whose process starts anew in every world."""
    with ExitStack() as stack:

        def planner(world: CompetitionPeople, settings: CompetitionRules) -> PracticeRecommender:  # noqa: ARG001
            peer = stack.enter_context(PeerProcess(kind, files_of(world, trials.seed), PATIENCE_SECONDS))
            return PeerRecommender(world, peer, count)

        return trials.measure(settings, goal=GOALS[GOAL], planner=planner, first_round=trials.rounds // 2)


class PeerRecommender:
    """Tells everybody below their goal a peer's first counterfactual; the person as they are where it has none."""

    def __init__(self, world: CompetitionPeople, peer: PeerProcess, count: Count) -> None:
        self._world, self._peer, self._count = world, peer, count

    def __call__(self, people: Floats, goals: Floats, difficulty: Floats) -> Floats:
        """The targets (n, D) of people (n, D) with goals (n,). Peers know nothing of difficulty."""
        below = np.flatnonzero(self._world.score(people) < goals)
        answer = self._peer.ask(people[below], goals[below], self._count.asked)
        found, first = np.unique(answer.whose, return_index=True)
        targets = people.copy()
        targets[below[found]] = answer.targets[first]
        self._count.asked += len(below)
        self._count.found += len(found)
        self._count.seconds += answer.seconds
        return targets


def files_of(world: CompetitionPeople, seed: int) -> Files:
    """A world's model, and people of it whom a peer may know."""
    columns = len(world.coef)
    people = world.people(np.random.default_rng(seed), (KNOWN_PEOPLE,)).round(DECIMALS)
    features = "\n".join(FEATURE.format(number=number) for number in range(columns))
    spec = SPEC.format(features=features).encode()
    labels = (world.score(people) > 0.5).astype(np.int64)
    return Files(spec, world.estimator, people, labels, np.zeros(columns), np.ones(columns))

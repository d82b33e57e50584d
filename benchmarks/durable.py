"""Recourse in rounds with limited places: how many reach the goal they are told (RF), and how many of these get a place
(RR).

With --worlds everything is played in the worlds of that file. Then only the named rows of the default goal and
recommender are measured, unless --parts says what else. Without it also scarce places and changes, the baseline, other
recommenders and goals, horizons, drift, larger pools, and what the paper does not print.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from rich.table import Table

from onward.agents.goals import Fixed, RoundGoal
from onward.benchmarks import face
from onward.benchmarks.competition import paper
from onward.benchmarks.competition.changes import ChangedSettings
from onward.benchmarks.competition.figures import draw
from onward.benchmarks.competition.measures import DEFAULT_GOAL, GOALS, Trials
from onward.benchmarks.competition.peers import beside_peers
from onward.benchmarks.competition.plans import DEFAULT, PLANNERS
from onward.benchmarks.competition.rows import episodes_row
from onward.benchmarks.competition.scarcity import calendars, scarce, shifts
from onward.benchmarks.competition.trained import convergence, learned_goals, learned_recommenders
from onward.benchmarks.face import Row, progress
from onward.environments.competition import CompetitionRules, draw_world, load_worlds
from onward.environments.competition.played import CompetitionWorld
from onward.streams.cli.demo import DemoSettings
from onward.streams.errors import UsageError

Floats = NDArray[np.float64]

SHARED = Path(os.environ.get("ONWARD_SHARED", Path(__file__).parents[1].parent / "shared"))
WORLDS = SHARED / "reference" / "durable" / "worlds.npz"

SETTINGS = [(horizon, beta) for horizon in (1, 5) for beta in (0.05, 0.01)]
AIM_RF = {(1, 0.05): 0.78, (1, 0.01): 0.40, (5, 0.05): 0.47, (5, 0.01): 0.22}
HYBRID_OF = {"L2": "L2", "Wachter": "Wachter", DEFAULT: "own"}
"""The paper's recommender whose RF stands beside ours: beside our default its own."""
TABLE_1_OF = {"L2": "L2", "Wachter": "Wachter", "weighted L1": "own"}
"""The paper's recommender whose error and cost stand beside ours: beside the cheapest plans its own."""
LEARNED_SHARE = 0.95
"""Of the feasibility with known difficulties, what learned ones are to reach within 200 rounds."""
PARTS = (
    "named",
    "scarce",
    "shifts",
    "calendars",
    "coverage",
    "baseline",
    "recommenders",
    "pareto",
    "horizons",
    "drift",
    "pools",
    "unprinted",
    "learned",
    "sac",
    "phi",
    "convergence",
    "demo",
)


@dataclass(frozen=True, kw_only=True)
class Args(face.Args):
    """The command line."""

    worlds: Path | None = field(
        default=None, metadata={"help": "frozen worlds (default: those of the reference numbers)", "metavar": "FILE"}
    )
    parts: tuple[str, ...] = field(
        default=(),
        metadata={"help": f"what is measured, some of {','.join(PARTS)} (default: all; with --worlds: named)"},
    )
    episodes: int = field(default=10, metadata={"quick": 2, "help": "episodes of each world"})
    rounds: int = field(default=100, metadata={"quick": 12, "help": "rounds of an episode"})
    sac: tuple[str, ...] = field(
        default=(), metadata={"help": "folders of goals that onward train-rl has trained", "metavar": "DIR,DIR"}
    )
    phi: tuple[str, ...] = field(
        default=(), metadata={"help": "folders of its recommenders, one a world, in order", "metavar": "DIR,DIR"}
    )
    dice: int = field(
        default=60, metadata={"quick": 0, "help": "rounds of DiCE's one episode of each world; 0 leaves it out"}
    )
    figures: Path | None = field(default=None, metadata={"help": "draw the figures into this folder", "metavar": "DIR"})


def durable(args: Args) -> Iterator[Row]:
    """All figures."""
    for part in args.parts:
        if part not in PARTS:
            raise UsageError(f"--parts: there is no {part!r}, use some of {','.join(PARTS)}")
    trials = _trials(args)
    parts: dict[str, Callable[[Trials], Iterable[Row]]] = {
        "named": _named,
        "scarce": scarce,
        "shifts": shifts,
        "calendars": calendars,
        "coverage": _hard_coverage,
        "baseline": _baseline,
        "recommenders": partial(_recommenders, args.dice),
        "pareto": partial(_pareto, args.figures),
        "horizons": partial(_horizons, args.figures),
        "drift": partial(_drift, args.figures),
        "pools": _pools,
        "unprinted": _unprinted,
        "learned": _learned,
        "sac": partial(learned_goals, args.sac),
        "phi": partial(learned_recommenders, args.phi, args.sac),
        "convergence": partial(convergence, args.sac, args.figures),
        "demo": _demo,
    }
    for part in args.parts or (PARTS if args.worlds is None else ("named",)):
        yield from parts[part](trials)


def _trials(args: Args) -> Trials:
    file = args.worlds or WORLDS
    if args.worlds is None and not file.is_file():
        progress(f"{file} is not there: the worlds are drawn from seeds")
        worlds = [draw_world(seed) for seed in range(4)]
    else:
        try:
            worlds = load_worlds(file)
        except (OSError, ValueError) as error:
            raise UsageError(f"--worlds: {error}") from error
    return Trials(worlds, args.episodes, args.rounds, args.seeds.start)


# --- the default goal and recommender ---------------------------------------------------------------------------------


def _named(trials: Trials) -> Iterator[Row]:
    worst_gini = np.zeros(0)
    for horizon, beta in SETTINGS:
        case = f"T={horizon} beta={beta:g}"
        found = trials.measure(CompetitionRules(horizon=horizon, beta=beta))
        yield episodes_row(
            f"RF {case}", found.feasibility, reference=paper.RF.get((horizon, beta)), aim=AIM_RF[horizon, beta]
        )
        yield episodes_row(f"RR {case}", found.reliability, reference=paper.NOMINAL)
        worst_gini = np.concatenate([worst_gini, found.gini])
        if beta == 0.05:
            yield from _coverage(trials, horizon, beta)
        half = trials.rounds // 2
        shifted = trials.measure(ChangedSettings(horizon=horizon, beta=beta, shift_round=half), first_round=half)
        yield episodes_row(f"RR after shift {case}", shifted.reliability, reference=paper.NOMINAL)
    yield episodes_row("Gini", worst_gini, reference=paper.GINI["own"], aim=1e-6, better="lower")


def _coverage(trials: Trials, horizon: int, beta: float) -> Iterator[Row]:
    """RR at other nominal coverages."""
    for nominal in (0.9, 0.8):
        found = trials.measure(CompetitionRules(horizon=horizon, beta=beta), nominal)
        name = f"T={horizon} beta={beta:g} nominal={nominal:.2f}"
        yield episodes_row(f"RR {name}", found.reliability, reference=nominal)
        yield episodes_row(f"RF {name}", found.feasibility)


def _hard_coverage(trials: Trials) -> Iterator[Row]:
    """The same where changes are hard. It takes longer, so it is not among the named rows."""
    for horizon in (1, 5):
        yield from _coverage(trials, horizon, 0.01)


# --- what it is held against ------------------------------------------------------------------------------------------


def _baseline(trials: Trials) -> Iterator[Row]:
    """The last threshold and L2 projection, with and without trying again."""
    for horizon, beta in SETTINGS:
        for retry in (False, True) if horizon > 1 else (False,):
            settings = CompetitionRules(horizon=horizon, beta=beta, retry_while_waiting=retry)
            found = trials.measure(settings, goal=GOALS["last_threshold"], planner="L2")
            case = f"baseline T={horizon} beta={beta:g}{', retry' if retry else ''}"
            yield episodes_row(f"{case} RR", found.reliability, reference=paper.BASELINE_RR)
            yield episodes_row(f"{case} RF", found.feasibility)


def _recommenders(dice_rounds: int, trials: Trials) -> Iterator[Row]:
    """Every recommender with the default goal, T = 1: RF at RR .95, score error, cost and Gini index."""
    for name in PLANNERS:
        for number, beta in enumerate((0.05, 0.01)):
            found = trials.measure(CompetitionRules(beta=beta), planner=name)
            reference = paper.HYBRIDS[HYBRID_OF[name]][number] if name in HYBRID_OF else None
            yield episodes_row(f"{name} beta={beta:g} RF", found.feasibility, reference=reference)
            yield episodes_row(f"{name} beta={beta:g} RR", found.reliability, reference=paper.NOMINAL)
            if beta == 0.05:
                error, cost = paper.TABLE_1[TABLE_1_OF[name]] if name in TABLE_1_OF else (None, None)
                yield episodes_row(f"{name} score error", found.error, reference=error, better="lower")
                yield episodes_row(f"{name} cost", found.cost, reference=cost, better="lower")
                yield episodes_row(f"{name} Gini", found.gini, better="lower")
        yield _speed(name, trials)
    if dice_rounds:
        yield from beside_peers(replace(trials, episodes=1, rounds=dice_rounds))


def _speed(name: str, trials: Trials) -> Row:
    """Processor time of a recommendation at a goal of .6."""
    world, settings = trials.worlds[0], CompetitionRules()
    people = world.people(np.random.default_rng(0), (2000,))
    people = people[world.score(people) < 0.6]
    recommend = PLANNERS[name](world, settings)
    arguments = people, np.full(len(people), 0.6), np.array(settings.difficulty)
    recommend(*arguments)
    began = time.process_time()
    recommend(*arguments)
    return Row(f"{name} a recommendation", (time.process_time() - began) / len(people) * 1e6, "us", better="lower")


def _pareto(figures: Path | None, trials: Trials) -> Iterator[Row]:
    """RF against RR as the nominal coverage is varied, for every goal that has one."""
    fronts: dict[str, list[tuple[float, float]]] = {}
    for name in (DEFAULT_GOAL, "capacity", "conformal + offset", "last_threshold + offset", "fixed + offset"):
        for nominal in (0.5, 0.7, 0.8, 0.9, 0.95):
            found = trials.measure(CompetitionRules(), nominal, GOALS[name])
            yield episodes_row(f"{name} nominal={nominal:.2f} RR", found.reliability, reference=nominal)
            yield episodes_row(f"{name} nominal={nominal:.2f} RF", found.feasibility)
            fronts.setdefault(name, []).append((float(found.reliability.mean()), float(found.feasibility.mean())))
    if figures:
        draw(figures, fronts, {}, {})


def _horizons(figures: Path | None, trials: Trials) -> Iterator[Row]:
    """RF at RR .95 as T grows; with beta .05, as in the paper's figure 3."""
    curves: dict[str, list[tuple[float, float]]] = {}
    for name in (DEFAULT, "L2"):
        for horizon in range(1, 6):
            found = trials.measure(CompetitionRules(horizon=horizon), planner=name)
            yield episodes_row(f"{name} T={horizon} RF", found.feasibility)
            yield episodes_row(f"{name} T={horizon} RR", found.reliability, reference=paper.NOMINAL)
            curves.setdefault(name, []).append((horizon, float(found.feasibility.mean())))
    if figures:
        draw(figures, {}, curves, {})


def _drift(figures: Path | None, trials: Trials) -> Iterator[Row]:
    """Newcomers improve by .35 standard deviations at half-time. The fixed goal is the mean of the default before."""
    half = trials.rounds // 2
    settings = ChangedSettings(shift_round=half)
    curves: dict[str, Floats] = {}
    score = 0.5
    for name in (
        DEFAULT_GOAL,
        "capacity",
        "conformal + offset",
        "conformal",
        "fixed + offset",
        "fixed",
        "last_threshold",
    ):
        goal = partial(_fixed, score, "offset" in name) if name.startswith("fixed") else GOALS[name]
        after = trials.measure(settings, goal=goal, first_round=half)
        if name == DEFAULT_GOAL:
            score = float(np.mean(after.goal_by_round[half // 2 : half]))
        yield episodes_row(f"{name} after shift RR", after.reliability, reference=paper.NOMINAL)
        yield episodes_row(f"{name} after shift RF", after.feasibility)
        curves[name] = after.reliability_by_round
    if figures:
        draw(figures, {}, {}, curves)


def _fixed(score: float, offset: bool, coverage: float, horizon: int) -> RoundGoal:
    return Fixed(coverage, horizon, offset=offset, score=score)


def _pools(trials: Trials) -> Iterator[Row]:
    """Ten and a hundred times as many people and places."""
    base = CompetitionRules()
    for times in (10, 100):
        larger = replace(base, first=base.first * times, newcomers=base.newcomers * times, places=base.places * times)
        found = replace(trials, episodes=max(1, trials.episodes // times)).measure(larger)
        yield episodes_row(f"pool x{times} RR", found.reliability, reference=paper.NOMINAL)
        yield episodes_row(f"pool x{times} RF", found.feasibility)


def _unprinted(trials: Trials) -> Iterator[Row]:
    """What the paper does not print, varied one at a time; T = 5."""
    varied: list[dict[str, float]] = [
        *[{"rho": value} for value in (0.25, 1.0)],
        *[{"chi": value} for value in (0.0, 0.05)],
        {"omega": 0.1},
        *[{"nu": value} for value in (2.0, 10.0)],
        {"retry_while_waiting": True},
        {"retry_while_waiting": True, "beta": 0.01},
    ]
    for changes in varied:
        found = trials.measure(replace(CompetitionRules(horizon=5), **changes))  # type: ignore[arg-type]
        case = "T=5 " + ", ".join(f"{name}={value}" for name, value in changes.items())
        yield episodes_row(f"{case} RR", found.reliability, reference=paper.NOMINAL)
        yield episodes_row(f"{case} RF", found.feasibility)


def _learned(trials: Trials) -> Iterator[Row]:
    """Difficulties learned from those who come back, beside known ones in the same episodes of twice as many rounds."""
    rounds = 2 * trials.rounds
    for horizon, beta in SETTINGS:
        settings, case = CompetitionRules(horizon=horizon, beta=beta), f"T={horizon} beta={beta:g}"
        alone = [
            replace(trials, episodes=1, rounds=rounds, seed=trials.seed + 1000 * number)
            for number in range(trials.episodes)
        ]
        known, learned = ([episode.measure(settings, learns=learns) for episode in alone] for learns in (False, True))
        shares = [one.feasibility.mean() / other.feasibility.mean() for one, other in zip(learned, known, strict=True)]
        yield episodes_row(f"RF known {case}", np.concatenate([one.feasibility for one in known]))
        yield episodes_row(f"RF learned {case}", np.concatenate([one.feasibility for one in learned]))
        yield episodes_row(
            f"RR learned {case}", np.concatenate([one.reliability for one in learned]), reference=paper.NOMINAL
        )
        yield episodes_row(f"RF learned / known {case}", np.array(shares), aim=LEARNED_SHARE)


def _demo(trials: Trials) -> Iterator[Row]:
    """The seasons of ``onward demo --world competition --seed``, for three seeds, without the topics."""
    for seed in range(trials.seed, trials.seed + 3):
        settings = DemoSettings.model_validate({"world": "competition", "seed": seed})
        world = CompetitionWorld(settings, progress).world
        season = Trials([world], 1, trials.rounds, seed)
        for learns in (True, False):
            found, case = (
                season.measure(CompetitionRules(), learns=learns),
                f"seed={seed}, {'learned' if learns else 'known'}",
            )
            yield episodes_row(f"season {case} RF", found.feasibility)
            yield episodes_row(f"season {case} RR", found.reliability, reference=paper.NOMINAL)


# --- the table --------------------------------------------------------------------------------------------------------


def tables(rows: Sequence[Row]) -> Iterable[Table]:
    """The rows with their standard errors over the episodes, and the paper's numbers beside them."""
    shown = Table(box=None, header_style="bold", pad_edge=False)
    shown.add_column("figure", no_wrap=True)
    for column in ("value", "standard error", "paper or nominal", "aim"):
        shown.add_column(column, justify="right")
    shown.add_column("")
    for row in rows:
        values = list((row.by_seed or {}).values())
        error = f"{np.std(values, ddof=1) / len(values) ** 0.5:.4f}" if len(values) > 1 else ""
        sign = ">=" if row.better == "higher" else "<="
        shown.add_row(
            row.name,
            f"{row.value:.4g} {row.unit}".strip(),
            error,
            "" if row.reference is None else f"{row.reference:.4g}",
            "" if row.aim is None else f"{sign} {row.aim:g}",
            {True: "[green]reached", False: "[red]not yet", None: ""}[row.reached],
        )
    yield shown


if __name__ == "__main__":
    sys.exit(face.run(Args, durable, show=tables))

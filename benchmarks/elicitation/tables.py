"""The tables and figures of the paper for the stored users, and what it does not ask."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any, Literal

import numpy as np
from matplotlib.figure import Figure
from scipy.stats import spearmanr

from onward.agents.choices.questions import InterviewRules
from onward.agents.costs.mixture import GaussianMixture
from onward.benchmarks.elicitation.baselines.table import competitors
from onward.benchmarks.elicitation.interviews import (
    MOST_QUESTIONS,
    RULES,
    Belief,
    Results,
    Subject,
    mean,
    play,
    subjects,
    taught,
)
from onward.benchmarks.elicitation.named import POOL_SECONDS, QUESTION_MS, Published, warm
from onward.benchmarks.elicitation.paper import COMPETITORS, CORRUPTED, MEASURES
from onward.benchmarks.elicitation.plausible import plausible_actions
from onward.benchmarks.elicitation.study import Array, Study, Users
from onward.benchmarks.face import Row, progress
from onward.streams.errors import UsageError

UNITS = {"validity": "share", "cost": "cost", "length": "actions"}
STORED_AIMS = {3: 59.0, 10: 57.5}
"""The most that plans of all stored users ``all`` of Adult may cost after so many questions."""
STORED_USERS = 150
SLOW_POOL_SECONDS = 0.300
WIDER = 3.0


class Stored:
    """One data set: its stored users, who are asked once for all tables.

    Parameters
    ----------
    study, sets
        The data set and its users.
    reference
        The authors' results.
    seed
        Of the users' noise and of the particles.
    fewer
        The most users of a set where many settings are played.
    """

    def __init__(self, study: Study, sets: Mapping[str, Users], reference: Published, seed: int, fewer: int) -> None:
        self.study, self.sets, self.reference, self.seed, self.fewer = study, sets, reference, seed, fewer
        self.belief = Belief.of(study)
        self.crowd, self.results = cache(self._crowd), cache(self._results)
        warm(study, next(iter(sets.values())), seed)

    def _crowd(self, users: str) -> list[Subject]:
        progress(f"{self.study.name}: plans of {len(self.sets[users])} users, {users}")
        return list(subjects(self.study, self.sets[users], self.belief))

    def _results(self, users: str, response: str, options: int) -> Results:
        progress(f"{self.study.name}: {users}, {response}, k={options}")
        rules = RULES._replace(options=options)
        return play(self.study, self.crowd(users), self.belief, response, rules=rules, seed=self.seed)

    def few(self, users: str) -> Users:
        """The first users of a set."""
        return self.sets[users].first(self.fewer)

    def played(self, people: Users, belief: Belief, response: str, **more: Any) -> Results:
        """Ask users under another belief."""
        return play(self.study, list(subjects(self.study, people, belief, **more)), belief, response, seed=self.seed)


def measures(result: Results) -> dict[str, float]:
    """Validity, cost and length after the last question."""
    values = result.validity, result.cost(-1), mean(result.length)
    return dict(zip(MEASURES, values, strict=True))


def better(measure: str) -> Literal["higher", "lower"]:
    """Which values of a measure are the better ones."""
    return "higher" if measure == "validity" else "lower"


def table_1(stored: Stored) -> Iterator[Row]:
    """All methods after ten questions: ours beside the authors' results for the same users, and the printed rows."""
    study, reference = stored.study, stored.reference
    for users in stored.sets:
        for response in ("NL", "L"):
            row = reference.row(study, users, response, MOST_QUESTIONS)
            known = row.get("validity_shared"), row.get("mean_cost_valid_shared"), None
            for (name, value), beside in zip(measures(stored.results(users, response, 2)).items(), known, strict=True):
                title = f"table 1, {name} {study.name} {users} {response} k=2 T=10"
                yield Row(title, value, UNITS[name], reference=beside, better=better(name))
        yield from _competitors(stored, users)
        yield from _beside_authors(stored, users)


def _competitors(stored: Stored, users: str) -> Iterator[Row]:
    """The competitors that are run, for the first users, and the printed rows of the others."""
    study, few = stored.study, stored.few(users)
    progress(f"{study.name}: competitors, {len(few)} users, {users}")
    everybody = [row for people in stored.sets.values() for row in people.rows]
    printed, run = COMPETITORS[study.name][users], set[str]()
    for method, values in competitors(study, few, everybody, stored.seed):
        run.add(method)
        known = printed.get(method) or (None, None, None)
        for name, value, beside in zip(MEASURES, values, known, strict=True):
            title = f"table 1, {name} {study.name} {users} {method}"
            yield Row(title, value, UNITS[name], reference=beside, better=better(name))
    cost = mean(stored.results(users, "NL", 2).costs[: len(few), -1])
    yield Row(
        f"table 1, cost {study.name} {users} NL k=2 T=10, the same {len(few)} users", cost, "cost", better="lower"
    )
    for method in (method for method in printed if method not in run):
        for name, value in zip(MEASURES, printed[method] or (), strict=bool(printed[method])):
            yield Row(f"table 1, {name} {study.name} {users} {method} (published)", value, UNITS[name])


def _beside_authors(stored: Stored, users: str) -> Iterator[Row]:
    """How our plans compare with the authors', user by user."""
    study, result = stored.study, stored.results(users, "NL", 2)
    if study.name == "adult":
        known = _authors(stored, users, "true_weights", "", "")
        dearer = [number for number, cost in known.items() if result.optimum[number] > cost + 1e-6]
        title = f"dearer than the authors' plan, {study.name} {users} true weights"
        yield Row(title, len(dearer), f"users of {len(known)}", aim=0.0, better="lower")
    known = _authors(stored, users, "NL", str(MOST_QUESTIONS), "2")
    ours = mean(result.costs[list(known), -1])
    theirs = mean(np.array(list(known.values())))
    title = f"cost {study.name} {users} NL k=2 T=10, users that the reference solves"
    aim = 0.5 * theirs if study.name == "givemecredit" else None
    yield Row(title, ours, "cost", reference=theirs, aim=aim, better="lower")
    if (study.name, users) == ("adult", "all") and len(stored.sets[users]) == STORED_USERS:
        for questions, most in STORED_AIMS.items():
            title = f"cost adult all NL k=2 T={questions}, stored users"
            yield Row(title, result.cost(questions), "cost", aim=most, better="lower")


def _authors(stored: Stored, users: str, *setting: str) -> dict[int, float]:
    """The costs of the authors' valid plans, by user."""
    rows = [row for row in stored.study.reference() if row["valid"] == "1" and row["users"] == users]
    wanted = [row for row in rows if (row["response"], row["T"], row["k"]) == setting]
    return {int(row["user"]): float(row["cost"]) for row in wanted if int(row["user"]) < len(stored.sets[users])}


def table_2(stored: Stored) -> Iterator[Row]:
    """Some edges of the structure are not known: logistic answers, ten questions."""
    study, random = stored.study, np.random.default_rng(stored.seed)
    for users in stored.sets:
        for share, printed in CORRUPTED[study.name][users].items():
            progress(f"{study.name}: {users}, {share:.0%} of the edges removed")
            removed = random.choice(len(study.edges), round(share * len(study.edges)), replace=False)
            result = stored.played(stored.few(users), stored.belief.without(removed.tolist()), "L")
            found = measures(result) | {"above": 100.0 * (result.cost(-1) / mean(result.optimum) - 1.0)}
            for name, known in zip(MEASURES, printed, strict=True):
                title = f"table 2, {name} {study.name} {users} {share:.0%} removed"
                yield Row(title, found[name], UNITS[name], reference=known, better=better(name))
            title = f"table 2, above the optimum {study.name} {users} {share:.0%} removed"
            yield Row(title, found["above"], "%", better="lower")


def figure_3(stored: Stored, folder: Path | None) -> Iterator[Row]:
    """The regret by questions, as a share of that before the first one; users ``all``."""
    study, curves = stored.study, dict[str, tuple[Array, list[float | None]]]()
    for response in ("NL", "L"):
        for options in (2, 4):
            result = stored.results("all", response, options)
            cost = np.array([result.cost(number) for number in range(MOST_QUESTIONS + 1)])
            least = mean(result.optimum)
            known = [_authors_regret(stored, response, number, options) for number in range(MOST_QUESTIONS + 1)]
            curves[f"{response} k={options}"] = (cost - least) / (cost[0] - least), known
    for name, (regret, known) in curves.items():
        for number, value in enumerate(regret):
            title = f"figure 3, regret {study.name} {name} T={number}"
            yield Row(title, round(float(value), 9), "share", reference=known[number], better="lower")
    if folder is not None:
        _draw(folder, study.name, curves)


def _authors_regret(stored: Stored, response: str, questions: int, options: int) -> float | None:
    cost = [stored.reference.cost(stored.study, "all", response, number, options) for number in (questions, 0)]
    least = stored.reference.cost(stored.study, "all", "true_weights", None, None)
    return None if None in cost else (cost[0] - least) / (cost[1] - least)


def _draw(folder: Path, name: str, curves: Mapping[str, tuple[Array, list[float | None]]]) -> None:
    figure = Figure(figsize=(6.0, 4.0), layout="constrained")
    axes = figure.subplots()
    for number, (label, (regret, known)) in enumerate(curves.items()):
        axes.plot(regret, color=f"C{number}", marker="o", markersize=3.5, linewidth=0.9, label=label)
        points = [(at, value) for at, value in enumerate(known) if value is not None]
        axes.plot(
            *zip(*points, strict=True), color=f"C{number}", linestyle="--", linewidth=0.9, label=f"{label}, authors"
        )
    axes.set(xlabel="questions", ylabel="regret, as a share of that before", title=name)
    figure.legend(loc="outside lower center", ncols=4, frameon=False, fontsize=8)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        figure.savefig(folder / f"figure_3_{name}.svg", metadata={"Date": None})
    except OSError as error:
        raise UsageError(f"--figures {folder}: {error.strerror}") from None


def misspecified_prior(stored: Stored) -> Iterator[Row]:
    """Users whose weights the prior hardly foresees: how far above their optimum plans are, as it is and broadened."""
    study, random = stored.study, np.random.default_rng(stored.seed)
    few = stored.few("all")
    normal = random.standard_normal(few.weights.shape)
    apart = study.prior.means[few.kind]
    drawn = {
        f"{WIDER:g} times as wide": apart + WIDER * normal,
        "between the kinds": study.prior.mean + normal @ np.linalg.cholesky(study.prior.covariance).T,
    }
    beliefs: Mapping[str, GaussianMixture] = {"as it is": study.prior, "broadened": study.prior.broadened()}
    for users, weights in drawn.items():
        for name, prior in beliefs.items():
            progress(f"{study.name}: weights {users}, prior {name}")
            result = stored.played(replace(few, weights=weights), stored.belief._replace(prior=prior), "NL")
            for questions in (0, 3, MOST_QUESTIONS):
                above = round(100.0 * (result.cost(questions) / mean(result.optimum) - 1.0), 9)
                title = f"misspecified prior {study.name}, {users}, {name}, above the optimum T={questions}"
                yield Row(title, above, "%", better="lower")


def learned_population(stored: Stored) -> Iterator[Row]:
    """Users of the two commonest kinds: what one half is told, where the answers of the other half have taught."""
    study, few = stored.study, stored.few("all")
    common = np.bincount(few.kind).argsort(kind="stable")[-2:]
    own = np.flatnonzero(np.isin(few.kind, common))
    crowd = list(subjects(study, few.at(own), stored.belief))
    earlier, later = crowd[: len(crowd) // 2], crowd[len(crowd) // 2 :]
    progress(f"{study.name}: {len(earlier)} users of two kinds teach what {len(later)} others are told")
    learned = taught(study, earlier, stored.belief, InterviewRules(), stored.seed)
    after, before = (play(study, later, belief, "NL", seed=stored.seed) for belief in (learned, stored.belief))
    for questions in (0, 1, 3):
        title = f"population of two kinds {study.name}, {len(earlier)} have answered, cost NL k=2 T={questions}"
        yield Row(title, after.cost(questions), "cost", reference=before.cost(questions), better="lower")


def plausible_only(stored: Stored) -> Iterator[Row]:
    """Only actions that people would call a way forward."""
    study, few = stored.study, stored.few("all")
    progress(f"{study.name}: plausible actions only")
    actions = [plausible_actions(study, row) for row in few.rows]
    result, whole = stored.played(few, stored.belief, "NL", actions=actions), stored.played(few, stored.belief, "NL")
    for name, value in measures(result).items():
        beside = measures(whole)[name]
        title = f"plausible actions only, {name} {study.name} all NL k=2 T=10"
        yield Row(title, value, UNITS[name], reference=beside, better=better(name))


def lengths_and_scores(stored: Stored) -> Iterator[Row]:
    """How cost goes with length, and with the score before (appendix E)."""
    study = stored.study
    for users, people in stored.sets.items():
        result = stored.results(users, "NL", 2)
        has_plan = np.isfinite(result.costs[:, -1])
        cost, odds = result.costs[has_plan, -1], study.classifier.log_odds(study.encoded(people.rows))[has_plan]
        for name, other in (("length", result.length[has_plan]), ("score", odds)):
            rank = float(spearmanr(cost, other).statistic)
            yield Row(f"appendix E, rank correlation of cost and {name} {study.name} {users}", rank, "")
        asked = float(result.asked.mean())
        yield Row(f"questions asked {study.name} {users} NL k=2, tolerance 2 %", asked, "questions", better="lower")
        told = mean(result.costs[np.arange(len(result.asked)), result.asked])
        yield Row(
            f"cost then {study.name} {users} NL k=2", told, "cost", reference=mean(result.optimum), better="lower"
        )


def processor_time(stored: Stored) -> Iterator[Row]:
    """Pools and questions."""
    name = stored.study.name
    for users in stored.sets:
        pool = np.array([subject.seconds for subject in stored.crowd(users)])
        yield Row(f"s a pool {name} {users}, median", float(np.median(pool)), "s", aim=POOL_SECONDS, better="lower")
        tenth = float(np.quantile(pool, 0.9))
        yield Row(f"s a pool {name} {users}, p90", tenth, "s", aim=SLOW_POOL_SECONDS, better="lower")
        for options in (2, 4):
            question = 1e3 * stored.results(users, "NL", options).question_seconds
            yield Row(f"ms a question {name} {users} k={options}", question, "ms", aim=QUESTION_MS, better="lower")

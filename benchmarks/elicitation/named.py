"""The named figures of users of a file or of the stored ones."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from onward.benchmarks.elicitation.interviews import Belief, Results, Subject, mean, play, subjects
from onward.benchmarks.elicitation.study import Study, Users
from onward.benchmarks.face import Row, progress

AFTER_THREE, AFTER_TEN, AFTER_TEN_NOISY = 1.05, 1.01, 1.03
"""What plans may cost on Adult, as multiples of the cheapest ones under the true weights."""
VALIDITY = {"adult": 1.0, "givemecredit": 0.99}
QUESTION_MS, POOL_SECONDS = 30.0, 0.050
WARM = 3
"""Users who are asked before anything is timed: loops are compiled then."""


class Published(NamedTuple):
    """The authors' results: means over all 300 users of a set, or over the stored ones alone (``is_stored``)."""

    settings: Mapping[str, Any]
    is_stored: bool

    def row(self, study: Study, users: str, response: str, questions: int | None, options: int | None = 2) -> Any:
        """The results of one setting; an empty mapping where the authors stored none."""
        wanted = (users, response, questions, options)
        for row in self.settings[study.name]["per_setting"]:
            if (row["users"], row["response"], row["T"], row["k"]) == wanted:
                return row
        return {}

    def cost(self, study: Study, users: str, response: str, questions: int | None, options: int | None = 2) -> Any:
        """The mean cost of valid plans."""
        name = "mean_cost_valid_shared" if self.is_stored else "mean_cost_valid"
        return self.row(study, users, response, questions, options).get(name)

    def validity(self, study: Study, users: str, response: str, questions: int | None, options: int | None = 2) -> Any:
        """The share of users with a valid plan."""
        name = "validity_shared" if self.is_stored else "validity"
        return self.row(study, users, response, questions, options).get(name)

    def table_1(self, study: Study, users: str, response: str) -> Mapping[str, tuple[float, float]]:
        """Mean and standard deviation as printed in table 1: validity, cost and length."""
        printed: Mapping[str, tuple[float, float]] = self.settings["paper_table_1"][study.name][users][response]
        return printed


@cache
def published(folder: Path, is_stored: bool) -> Published:
    """The summary of the reference."""
    return Published(json.loads((folder / "reference_summary.json").read_text(encoding="utf-8")), is_stored)


class Crowd(NamedTuple):
    """The users of one set with their pools, and what they were told by response model."""

    users: str
    subjects: list[Subject]
    results: Mapping[str, Results]


def warm(study: Study, users: Users, seed: int) -> None:
    """Compile what is compiled at its first call."""
    belief = Belief.of(study)
    first = list(subjects(study, users.first(WARM), belief))
    for response in ("NL", "L"):
        play(study, first, belief, response, seed=seed)


def crowd_of(study: Study, users: str, people: Users, seed: int, responses: tuple[str, ...]) -> Crowd:
    """Make pools, and ask everybody under each response model."""
    belief = Belief.of(study)
    progress(f"{study.name}: plans of {len(people)} users, {users}")
    made = list(subjects(study, people, belief))
    progress(f"{study.name}: questions to them")
    return Crowd(users, made, {name: play(study, made, belief, name, seed=seed) for name in responses})


def named_rows(study: Study, sets: Mapping[str, Users], reference: Published, seed: int) -> Iterator[Row]:
    """The figures of a data set's users by the names that they are asked for."""
    warm(study, next(iter(sets.values())), seed)
    responses = ("NL", "L") if study.name == "adult" else ("NL",)
    crowds = [crowd_of(study, users, people, seed, responses) for users, people in sets.items()]
    for crowd in crowds:
        rows = _adult(study, crowd, reference) if study.name == "adult" else _givemecredit(study, crowd, reference)
        yield from rows
    if study.name == "adult":
        results = [result for crowd in crowds for result in crowd.results.values()]
        question = float(np.mean([result.question_seconds for result in results]))
        yield Row(f"ms a question {study.name}", 1e3 * question, "ms", aim=QUESTION_MS, better="lower")
        pool = float(np.median(np.concatenate([crowd.results["NL"].pool_seconds for crowd in crowds])))
        yield Row(f"s a pool {study.name}", pool, "s, median", aim=POOL_SECONDS, better="lower")


def _adult(study: Study, crowd: Crowd, reference: Published) -> Iterator[Row]:
    users, (noiseless, noisy) = crowd.users, (crowd.results["NL"], crowd.results["L"])
    least = mean(noiseless.optimum)
    known = reference.cost(study, users, "true_weights", None, None)
    yield Row(f"cost adult {users} true weights", least, "cost", reference=known, better="lower")
    for response, result, questions, factor in (
        ("NL", noiseless, 0, None),
        ("NL", noiseless, 3, AFTER_THREE),
        ("NL", noiseless, 10, AFTER_TEN),
        ("L", noisy, 10, AFTER_TEN_NOISY),
    ):
        yield Row(
            f"cost adult {users} {response} k=2 T={questions}",
            result.cost(questions),
            "cost",
            reference=reference.cost(study, users, response, questions),
            aim=None if factor is None else factor * least,
            better="lower",
        )
    yield _validity(study, users, noiseless, reference)


def _givemecredit(study: Study, crowd: Crowd, reference: Published) -> Iterator[Row]:
    users, result = crowd.users, crowd.results["NL"]
    yield _validity(study, users, result, reference)
    yield Row(
        f"cost givemecredit {users} NL k=2 T=10",
        result.cost(10),
        "cost",
        reference=reference.cost(study, users, "NL", 10),
        better="lower",
    )


def _validity(study: Study, users: str, result: Results, reference: Published) -> Row:
    known = reference.validity(study, users, "NL", 10)
    name = f"validity {study.name} {users}"
    return Row(name, result.validity, "share", reference=known, aim=VALIDITY[study.name])

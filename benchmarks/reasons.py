"""What the reasons of a rejection cost, and how often they are the exact ones, in a program of 12 features.

Each kind of model is asked about people whom it rejects. The cost is that of everything up to the words that are
published. Exact are the Shapley values of all 2^12 coalitions, added up coalition by coalition; the share is of people
whose reasons, at most four, are the same set. Peers are explainers of the package shap with the same baseline, where it
is installed (``pip install 'onward[bench-shap]'``); their cost is that of the contributions alone.
"""

from __future__ import annotations

import importlib.util
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import msgspec
import numpy as np
from numpy.typing import NDArray
from skl2onnx import to_onnx
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.neural_network import MLPClassifier

from onward.agents.goals import accepted
from onward.agents.reasons import principal_reasons
from onward.benchmarks import face
from onward.benchmarks.face import Row, progress
from onward.schemas.encoding import FeatureCodec, Values
from onward.schemas.spec import ProgramSpec
from onward.streams.programs.bundle.baseline import baseline_of
from onward.streams.programs.bundle.manifest import FeatureColumn
from onward.streams.programs.models.scoring import DecisionModel, scorer
from onward.streams.programs.onnx.check import parse_onnx
from onward.streams.programs.onnx.outputs import desired_class, with_one_output
from onward.streams.programs.reasons import RejectionReasons, contributions_under
from onward.streams.programs.training.imported_model import onnx_model

Floats = NDArray[np.float64]
Score = Callable[[Floats], Floats]
Explain = Callable[[Floats], Floats]
"""The contributions of the features, (n, F), to the scores of encoded people (n, D)."""

NUMBERS, CATEGORIES = 10, ("a", "b", "c")
FEATURES = NUMBERS + 2
ROWS = 4000
LINEAR_AIM_US, FOREST_AIM_US = 50.0, 1000.0
SHARE_AIM = 0.95
SPEC = msgspec.convert(
    {
        "program": "loans",
        "features": [
            *({"name": f"number {place}", "type": "continuous", "bounds": [0, 1]} for place in range(NUMBERS)),
            *({"name": f"kind {place}", "type": "categorical", "categories": CATEGORIES} for place in range(2)),
        ],
        "label": {"name": "repaid"},
        "model": {"manifest": "unused"},
    },
    ProgramSpec,
)
CODEC = FeatureCodec(SPEC)
LOG_ODDS = ("logistic regression", "gradient boosting")
"""The kinds whose contributions are to the log odds."""


@dataclass(frozen=True, kw_only=True)
class Args(face.Args):
    """The command line."""

    people: int = field(default=200, metadata={"quick": 20, "help": "rejected people of each model"})
    repeats: int = field(default=5, metadata={"quick": 1, "help": "timings, of which the fastest counts"})
    peer_people: int = field(default=20, metadata={"quick": 3, "help": "people whom the slow peers explain"})


class Case(NamedTuple):
    """A kind of model, with people whom it rejects, raw and encoded (n, D), and the baseline, encoded (D,)."""

    title: str
    estimator: Any
    model: DecisionModel
    values: list[Values]
    people: Floats
    baseline: Mapping[str, Any]
    row: Floats


def reasons(args: Args) -> Iterator[Row]:
    """All figures, model by model."""
    if importlib.util.find_spec("shap") is None:
        progress("shap is left out: it is not installed (pip install 'onward[bench-shap]' does it)")
    for case in cases(args):
        yield from _of_case(case, args)


def cases(args: Args) -> Iterator[Case]:
    """Models of one data set in which features act together."""
    random = np.random.default_rng(args.seeds[0])
    rows = [drawn(random) for _ in range(ROWS)]
    X = CODEC.encode_many(rows)
    odds = 6.0 * (X[:, 0] - 0.5) + 5.0 * X[:, 1] * X[:, 2] - 4.0 * X[:, 3] * X[:, 4] + 3.0 * (X[:, 5] > 0.6)
    odds += 2.0 * X[:, 10] - 3.0 * X[:, 14] * X[:, 6] + X[:, 7] - X[:, 8] - 0.5
    labels = (random.random(ROWS) < 1.0 / (1.0 + np.exp(-odds))).astype(np.int64)
    half = ROWS // 2
    estimators = {
        "logistic regression": LogisticRegression(max_iter=1000),
        "forest of 100 trees": RandomForestClassifier(random_state=0),
        "gradient boosting": HistGradientBoostingClassifier(random_state=0),
        "network": MLPClassifier(max_iter=500, early_stopping=True, n_iter_no_change=30, random_state=0),
    }
    for title, estimator in estimators.items():
        estimator.fit(X[:half], labels[:half])
        yield _case(title, estimator, scorer(estimator, CODEC.dimension), rows[half:], X[half:], args)
        if title == "network":
            content = to_onnx(estimator, X[:1], options={"zipmap": False}).SerializeToString()
            parsed = parse_onnx(content)
            column, _ = desired_class(parsed, 1)
            with_one_output(parsed)
            model = onnx_model(parsed, column, CODEC, X[:200])
            yield _case("ONNX, a black box", estimator, model, rows[half:], X[half:], args)


def drawn(random: np.random.Generator) -> dict[str, Any]:
    """Draw a person."""
    numbers = {f"number {place}": round(random.random(), 3) for place in range(NUMBERS)}
    return {**numbers, **{f"kind {place}": CATEGORIES[random.integers(3)] for place in range(2)}}


def _case(title: str, estimator: Any, model: DecisionModel, rows: list[Any], X: Floats, args: Args) -> Case:
    approved = accepted(model.score(X), SPEC.model.threshold)
    columns = tuple(map(FeatureColumn.from_feature, SPEC.features))
    baseline = baseline_of([rows[index] for index in np.flatnonzero(approved)], columns)
    assert baseline is not None, "somebody is approved"
    rejected = np.flatnonzero(~approved)[: args.people]
    values = [tuple(rows[index].values()) for index in rejected]
    [row] = CODEC.encode_many([baseline])
    return Case(title, estimator, model, values, X[rejected], baseline, row)


def _of_case(case: Case, args: Args) -> Iterator[Row]:
    own = RejectionReasons(CODEC, case.model, case.baseline)
    aim = {"logistic regression": LINEAR_AIM_US, "forest of 100 trees": FOREST_AIM_US}.get(case.title)
    count = len(case.people)
    cost = fastest(lambda: own.reasons_of(case.values, case.people), args.repeats) / count * 1e6
    alone = fastest(
        lambda: [own.reasons_of([case.values[n]], case.people[n : n + 1]) for n in range(count)], args.repeats
    )
    yield Row(f"{case.title}: a rejected person", cost, "us", aim=aim, better="lower")
    yield Row(f"{case.title}: one who is asked about alone", alone / count * 1e6, "us", aim=aim, better="lower")
    exact = np.stack([enumerated(explained(case), person, case.row) for person in case.people])
    contributions = contributions_under(case.model, case.row, CODEC).contributions_of
    yield Row(f"{case.title}: exact reasons", same(contributions(case.people), exact), "share", aim=SHARE_AIM)
    for name, explain, is_slow in peers(case):
        some = case.people[: args.peer_people] if is_slow else case.people
        explain(some[:1])
        seconds = fastest(lambda e=explain, s=some: e(s), 1 if is_slow else args.repeats)  # type: ignore[misc]
        theirs = seconds / len(some) * 1e6
        yield Row(f"{case.title}: {name}", theirs, "us", reference=cost, better="lower")
        yield Row(f"{case.title}: {name}, ratio to ours", theirs / cost, "times")
        yield Row(f"{case.title}: {name}, exact reasons", same(explain(some), exact[: len(some)]), "share")


def fastest(run: Callable[[], object], repeats: int) -> float:
    """The least processor seconds of some runs, after one that compiles what there is to compile."""
    run()
    seconds = []
    for _ in range(repeats):
        started = time.process_time()
        run()
        seconds.append(time.process_time() - started)
    return min(seconds)


def explained(case: Case) -> Score:
    """What the contributions add up to: the score, or its log odds."""

    def log_odds(X: Floats) -> Floats:
        scores = case.model.score(X)
        return np.asarray(np.log(scores) - np.log1p(-scores))

    return log_odds if case.title in LOG_ODDS else case.model.score


def enumerated(score: Score, person: Floats, baseline: Floats) -> Floats:
    """Shapley values by their definition: for each feature the mean gain over the sizes of coalitions without it, of
    the mean gain over the coalitions of that size."""
    holds = np.array(
        [[code >> feature & 1 for feature in range(FEATURES)] for code in range(1 << FEATURES)], dtype=bool
    )
    values = score(np.where(holds[:, CODEC.feature_of], person, baseline))
    codes, size = np.arange(1 << FEATURES), holds.sum(axis=1)
    shapley = []
    for feature in range(FEATURES):
        without = codes[~holds[:, feature]]
        gains = values[without | 1 << feature] - values[without]
        shapley.append(np.mean([gains[size[without] == number].mean() for number in range(FEATURES)]))
    return np.array(shapley)


def same(contributions: Floats, exact: Floats) -> float:
    """The share of people whose reasons are the same set as the exact ones."""
    barred = np.zeros(FEATURES, dtype=bool)
    pairs = zip(principal_reasons(contributions, barred), principal_reasons(exact, barred), strict=True)
    return float(np.mean([set(own.stated) == set(other.stated) for own, other in pairs]))


def peers(case: Case) -> Iterator[tuple[str, Explain, bool]]:
    """The explainers of shap for the model; those that ask about mixtures are slow. They see columns, not features:
    the contributions of a feature's columns are added up."""
    if importlib.util.find_spec("shap") is None:
        return
    import shap

    background = case.row[np.newaxis]
    if case.title in ("forest of 100 trees", "gradient boosting"):
        trees = shap.TreeExplainer(case.estimator, background, feature_perturbation="interventional")
        yield (
            "shap's TreeExplainer",
            lambda people: of_features(trees.shap_values(people, check_additivity=False)),
            False,
        )
    if case.title == "logistic regression":
        linear = shap.LinearExplainer(case.estimator, background)
        yield "shap's LinearExplainer", lambda people: of_features(linear.shap_values(people)), False
    else:
        permutation = shap.PermutationExplainer(explained(case), background, seed=0)
        yield "shap's PermutationExplainer", lambda people: of_features(permutation(people, silent=True).values), True


def of_features(values: Floats) -> Floats:
    """The contributions of features, (n, F), from those of columns, (n, D) or (n, D, 2) with the wanted class last."""
    of_class = values[..., 1] if values.ndim == 3 else values
    starts = np.searchsorted(CODEC.feature_of, np.arange(FEATURES))
    return np.asarray(np.add.reduceat(of_class, starts, axis=1))


if __name__ == "__main__":
    sys.exit(face.run(Args, reasons, width=130))

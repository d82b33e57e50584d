"""The benchmark of PEAR beside the authors' stored results, and the users of a file."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest

from onward.agents.choices.questions import InterviewRules
from onward.benchmarks import pear
from onward.benchmarks.elicitation.interviews import RESPONSES, Belief, answer, play, subjects
from onward.benchmarks.elicitation.paper import COMPETITORS
from onward.benchmarks.elicitation.planner import Person, Step
from onward.benchmarks.elicitation.study import Study
from onward.benchmarks.face import Row
from onward.streams.errors import UsageError

SHARED = Path(os.environ.get("ONWARD_SHARED", Path(__file__).parents[2].parent / "shared")) / "reference" / "pear"
pytestmark = pytest.mark.skipif(not SHARED.is_dir(), reason="the authors' data are not at hand")
FEW = 6


def study(name: str) -> Study:
    return Study(SHARED, name)


def reference(of: Study, users: str, response: str, questions: str, options: str) -> dict[int, dict[str, str]]:
    """The authors' valid results by user."""
    wanted = (users, response, questions, options)
    rows = [row for row in of.reference() if (row["users"], row["response"], row["T"], row["k"]) == wanted]
    return {int(row["user"]): row for row in rows if row["valid"] == "1"}


def file_of(path: Path, name: str, users: str, count: int = FEW) -> dict[str, np.ndarray]:
    """Write some stored users as a file of arrays."""
    of = study(name)
    some = of.stored_users(users).first(count)
    arrays = {f"{name}_{users}_{f.name}": np.array([row[f.name] for row in some.rows]) for f in of.features}
    arrays |= {f"{name}_{users}_w": some.weights, f"{name}_{users}_mixture_class": some.kind}
    np.savez(path, **arrays)
    return arrays


@pytest.mark.parametrize("name", ["adult", "givemecredit"])
def test_the_classifier_is_the_authors(name: str) -> None:
    of = study(name)
    lines = (SHARED / f"{name}_users_all.csv").read_text().splitlines()
    at = lines[0].split(",").index("model_score")
    scores = [float(line.split(",")[at]) for line in lines[1:]]
    odds = of.classifier.log_odds(of.encoded(of.stored_users("all").rows))
    np.testing.assert_allclose(1.0 / (1.0 + np.exp(-odds)), scores, atol=1e-6)


def test_plans_of_one_action_cost_what_the_authors_say() -> None:
    of = study("adult")
    users, checked = of.stored_users("all"), 0
    for number, row in list(reference(of, "all", "NL", "10", "2").items())[:40]:
        if row["length"] != "2":
            continue
        person, weights = Person(of, users.rows[number]), users.weights[number]
        size, own = person.lattice.size[:, 0], person.lattice.own
        feature = person.lattice.features[person.lattice.feature_of]
        phi = of.structure.coefficients(feature, size, np.repeat(own[np.newaxis], len(size), axis=0))
        costs = 1.0 + np.maximum(1.0, phi @ weights)[person.lattice.steps == 1]
        assert np.abs(costs - float(row["cost"])).min() < 1e-5
        checked += 1
    assert checked > 10


@pytest.mark.parametrize("users", ["all", "hard"])
def test_no_plan_is_dearer_than_the_authors_under_the_true_weights(users: str) -> None:
    of = study("adult")
    some = of.stored_users(users).first(FEW)
    known = reference(of, users, "true_weights", "", "")
    for subject in subjects(of, some, Belief.of(of)):
        assert subject.optimum <= float(known[subject.number]["cost"] if subject.number in known else np.inf) + 1e-6


def test_the_costs_of_a_user_are_those_of_the_own_features() -> None:
    """The authors' incumbent is costed on the features of the first user."""
    of = study("adult")
    some = of.stored_users("all").first(3)
    for subject in subjects(of, some, Belief.of(of), true_weights=False):
        row, weights = some.rows[subject.number], some.weights[subject.number]
        for plan in range(min(5, len(subject.costs))):
            state, steps = dict(row), []
            for step in subject.person.steps(subject.plans.levels[plan], subject.plans.order[plan]):
                assert state[step.feature] == step.before
                steps.append((of.number[step.feature], _size(of, step), of.own(state)))
                state[step.feature] = step.after
            phi = of.structure.coefficients(*map(np.array, zip(*steps, strict=True)))
            assert subject.costs[plan] == pytest.approx(1.0 + np.maximum(1.0, phi @ weights).sum())
            assert state == subject.target(plan)


def _size(of: Study, step: Step) -> float:
    feature = of.features[of.number[step.feature]]
    return 1.0 if feature.categories else abs(float(feature.scaled(step.after) - feature.scaled(step.before)))


def test_users_do_not_depend_on_those_who_were_asked_before() -> None:
    """The authors' particles leak from one user to the next."""
    of = study("adult")
    belief, users = Belief.of(of), of.stored_users("all").first(3)
    crowd = list(subjects(of, users, belief, true_weights=False))
    together = play(of, crowd, belief, "L")
    alone = play(of, crowd[2:], belief, "L")
    assert together.costs[2].tobytes() == alone.costs[0].tobytes()


def test_users_pick_by_their_response_model() -> None:
    costs, random = np.array([3.0, 1.0, 2.0]), np.random.default_rng(0)
    assert {answer(RESPONSES["NL"](slip=0.0), costs, random) for _ in range(20)} == {1}
    picks = [answer(RESPONSES["L"](slip=0.0), costs, random) for _ in range(4000)]
    odds = np.exp(-0.9 * costs)
    np.testing.assert_allclose(np.bincount(picks) / 4000, odds / odds.sum(), atol=0.03)


def test_ten_questions_lead_stored_users_to_their_optimum() -> None:
    of = study("adult")
    belief, users = Belief.of(of), of.stored_users("hard").first(FEW)
    crowd = list(subjects(of, users, belief))
    result = play(of, crowd, belief, "NL", rules=InterviewRules(10, 2, 0.0))
    assert result.validity == 1.0
    assert result.cost(10) <= 1.01 * result.optimum.mean()
    assert result.cost(0) > result.cost(1) > result.cost(10)


def test_the_named_rows_are_those_that_are_asked_for(tmp_path: Path) -> None:
    file = tmp_path / "users.npz"
    arrays = file_of(file, "adult", "hard", 3) | file_of(file, "givemecredit", "all", 3)
    np.savez(file, **arrays)
    rows = list(pear.pear(pear.Args(users=file, reference=SHARED)))
    assert [row.name for row in rows] == [
        "cost adult hard true weights",
        *(f"cost adult hard {setting}" for setting in ("NL k=2 T=0", "NL k=2 T=3", "NL k=2 T=10", "L k=2 T=10")),
        "validity adult hard",
        "ms a question adult",
        "s a pool adult",
        "validity givemecredit all",
        "cost givemecredit all NL k=2 T=10",
    ]
    least = value(rows, "cost adult hard true weights")
    assert {row.aim for row in rows[:5]} == {None, 1.05 * least, 1.01 * least, 1.03 * least}
    assert value(rows, "validity adult hard") == 1.0


def value(rows: list[Row], name: str) -> float:
    return next(row.value for row in rows if row.name == name)


@pytest.mark.parametrize(
    ("change", "line"),
    [
        ({"adult_all_age": None}, "adult_all_age"),
        ({"adult_all_w": np.ones((FEW, 3))}, "w has not 32 columns"),
        ({"adult_all_age": np.ones(2)}, "not of the same users"),
        ({"adult_all_age": np.array(["old"] * FEW)}, "could not convert"),
        ({"adult_all_age": np.full(FEW, np.nan)}, "a number that is not finite"),
        ({"adult_all_w": None}, "holds no array of adult_all_w"),
    ],
)
def test_a_file_of_users_that_does_not_fit_is_one_line(
    tmp_path: Path, change: dict[str, np.ndarray | None], line: str
) -> None:
    file = tmp_path / "users.npz"
    arrays = file_of(file, "adult", "all") | change
    np.savez(file, **{name: array for name, array in arrays.items() if array is not None})
    with pytest.raises(UsageError, match=line):
        list(pear.pear(pear.Args(users=file, reference=SHARED)))


def test_what_is_no_file_of_arrays_is_one_line(tmp_path: Path) -> None:
    file = tmp_path / "users.npz"
    file.write_text("name,age")
    with pytest.raises(UsageError, match="no file of arrays"):
        list(pear.pear(pear.Args(users=file, reference=SHARED)))
    with pytest.raises(UsageError, match="no file of arrays"):
        list(pear.pear(pear.Args(users=tmp_path / "missing.npz", reference=SHARED)))


@pytest.mark.slow
def test_competitors_shallow_classifiers_and_rules_are_rows_beside_their_references() -> None:
    args = pear.Args(
        reference=SHARED, studies=("adult",), parts=("table1", "appendix_c", "appendix_d"), people=8, fewer=2
    )
    rows = {row.name: row for row in pear.pear(args)}
    for method in ("MCTS", "CSCF", "FACE"):
        assert rows[f"table 1, validity adult all {method}"].reference == COMPETITORS["adult"]["all"][method][0]
        assert f"table 1, cost adult all {method} (published)" not in rows
    assert rows["table 1, cost adult hard FARE (published)"].value == 438.97
    for name in ("logistic regression", "tree"):
        assert rows[f"appendix C, agrees with the network adult {name}"].value > 0.85
        least = rows[f"appendix C, cost adult hard {name} true weights"].value
        assert rows[f"appendix C, cost adult hard {name} NL k=2 T=10"].value >= least - 1e-6
    planned = rows["appendix D, cost adult all XPEAR, planned amounts"]
    assert planned.reference is not None
    assert planned.aim == 1.05 * planned.reference

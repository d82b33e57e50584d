"""How many options last: what training measures of it, and what `policy.lasting` makes of the options."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.ensemble import RandomForestClassifier

import onward
from onward.schemas.encoding import FeatureCodec
from onward.schemas.events import Recourse
from onward.schemas.spec import ProgramSpec
from onward.schemas.specfile import parse_spec
from onward.schemas.table import read_table
from onward.streams.cli import main
from onward.streams.programs.bundle.loader import load_bundle
from onward.streams.programs.bundle.measured import BARE, OWN, Measured
from onward.streams.programs.spec_check import load_program_spec
from onward.streams.programs.training import margin
from onward.streams.programs.training.margin import affordable_margin
from onward.streams.programs.training.measures.lasting import PEOPLE
from onward.streams.programs.training.offered import Offered, lasting_share
from onward.streams.programs.training.resampled import JUDGES
from onward.streams.programs.training.retrains import LASTING
from onward.streams.programs.training.train import EstimatorName, fit_model, split_rows, train
from onward.streams.programs.training.trained import Trained
from onward.streams.programs.training.unsaved_program import unsaved_program
from onward.tests.support.loans import write_loans
from onward.tests.support.small_models import small_forests, small_priors

SPEC = """\
program: loan
features:
  - {name: income, type: integer, bounds: [0, 200], max_change: 40, mutable: up}
  - {name: debts, type: integer, bounds: [0, 20], mutable: down}
  - {name: region, type: categorical, categories: [north, south], mutable: none}
label: {name: repaid, desired: 1}
model: {manifest: model/manifest.json}
"""
BY_COST = "policy: {objective: cost, choice: protoar, options: 1, margin: 0, window: {steps: 4}}\n"
PROMISE = "policy: {objective: cost, choice: protoar, options: 1, window: {steps: 4}}\npromise: {kind: retrains}\n"


def test_the_share_is_of_the_pairs_with_a_model_that_rejects_the_person_unchanged() -> None:
    random = np.random.default_rng(0)
    X = random.uniform(size=(300, 3))
    labels = (X @ [1.0, 1.0, 0.5] + random.normal(0.0, 0.3, 300) > 1.3).astype(int)
    models = [
        RandomForestClassifier(15, random_state=seed).fit(X[rows], labels[rows])
        for seed, rows in enumerate(random.integers(300, size=(5, 150)))
    ]
    people, whose = random.uniform(0.2, 0.7, (20, 3)), np.array([0, 0, 3, 4, 4, 4, 7, 19])
    targets = (people[whose] + random.uniform(0.0, 0.4, (8, 3))).clip(max=1.0)
    rejecting = accepting = 0
    for model in models:
        for person, target in zip(people[whose], targets, strict=True):
            if model.predict([person])[0] == 0:
                rejecting += 1
                accepting += model.predict([target])[0] == 1
    scores = [lambda rows, model=model: model.predict_proba(rows)[:, 1] for model in models]
    assert 0 < accepting < rejecting < 40
    assert lasting_share(people, Offered(whose, targets, np.ones(8)), scores, 0.5) == accepting / rejecting
    assert lasting_share(people, Offered(whose, targets, np.ones(8)), [lambda rows: rows[:, 0] + 1.0], 0.5) is None


@pytest.fixture(autouse=True)
def few_trees() -> Iterator[None]:
    with small_forests(), small_priors():
        yield


def trained(
    folder: Path, rest: str, retrains: int | None = None, kind: EstimatorName = "random_forest"
) -> tuple[ProgramSpec, Measured]:
    write_loans(folder / "loans.csv")
    (folder / "loan.yaml").write_text(SPEC + rest)
    loaded = load_program_spec(folder / "loan.yaml")
    manifest = train(folder / "loans.csv", loaded, folder / "model", estimator=kind, seed=0, retrains=retrains)
    return loaded.spec, manifest.measured


def test_what_training_says_is_what_the_models_say_of_the_answers(tmp_path: Path) -> None:
    # The retrains that certify a promise judge, and stand in the bundle.
    spec, measured = trained(tmp_path, PROMISE, 2 * JUDGES, "logistic_regression")
    table, codec = read_table(tmp_path / "loans.csv", spec), FeatureCodec(spec)
    bundle = load_bundle(str(tmp_path / "model" / "manifest.json"), sha256=None, columns=codec.columns, codec=codec)
    _, *unseen = split_rows(table.labels, tmp_path, np.random.RandomState(0))
    rows = np.concatenate(unseen)
    people = [table.rows[row] for row in rows[bundle.model.score(table.X[rows]) <= 0.5][:PEOPLE].tolist()]
    pairs = []
    for answer in onward.load_program(tmp_path / "loan.yaml").suggest(people):
        if isinstance(answer, Recourse):
            person = people[int(answer.application)]
            changed = person | {change.feature: change.target for change in answer.options[0].changes}
            before, after = codec.encode_many([person, changed])[:, np.newaxis]
            for judge in bundle.retrains[1::2]:
                if judge.score(before)[0] <= 0.5:
                    pairs.append(judge.score(after)[0] > 0.5)
    assert len(pairs) > 20
    assert measured.lasting.rules[OWN].share == pytest.approx(np.mean(pairs))


def test_it_says_beside_its_own_rules_what_others_give_and_cost(tmp_path: Path, capsys: pytest.CaptureFixture) -> None:
    _, measured = trained(tmp_path, BY_COST)
    found = measured.lasting.rules
    assert list(found)[:4] == [OWN, "policy.lasting: 0.9", "promise: {kind: retrains}", "policy.margin: 0.1"]
    assert found[OWN].relative == 1.0
    assert found["promise: {kind: retrains}"].share > found[OWN].share
    assert found["policy.margin: 0.1"].relative > 1.0
    line = ["train", str(tmp_path / "loans.csv"), "--spec", str(tmp_path / "loan.yaml"), "--output"]
    assert main([*line, str(tmp_path / "again")]) == 0
    told = capsys.readouterr()
    assert "options that last: models of other samples accept " in told.out
    assert f"({JUDGES} models and " in told.out
    assert "  with `policy.lasting: 0.9`: " in told.out
    assert f"fitting {2 * JUDGES} models on resamples of the data, to see how many options last" in told.err


def test_options_that_most_retrains_accept_are_told_instead_of_others_and_nobody_loses_theirs(tmp_path: Path) -> None:
    policy = "policy: {margin: 0, options: 3, window: {steps: 4}%s}\n"
    spec, measured = trained(tmp_path, policy % ", lasting: 0.9")
    codec = FeatureCodec(spec)
    bundle = load_bundle(str(tmp_path / "model" / "manifest.json"), sha256=None, columns=codec.columns, codec=codec)
    assert len(bundle.retrains) == LASTING
    rows = read_table(tmp_path / "loans.csv", spec).rows

    def told(lasting: str) -> list[np.ndarray]:
        (tmp_path / "loan.yaml").write_text(SPEC + policy % lasting)
        answers = onward.load_program(tmp_path / "loan.yaml").suggest(rows)
        assert not any(isinstance(answer, onward.NoRecourse) for answer in answers)
        return [
            codec.encode_many(
                [
                    rows[int(answer.application)] | {change.feature: change.target for change in option.changes}
                    for option in answer.options
                ]
            )
            for answer in answers
            if isinstance(answer, Recourse)
        ]

    def shares(targets: np.ndarray) -> np.ndarray:
        return np.mean([retrain.score(targets) > 0.5 for retrain in bundle.retrains], axis=0)

    lasting, plain = told(", lasting: 0.9"), told("")
    assert len(lasting) == len(plain) > 20
    for own in map(shares, lasting):
        assert (own >= 0.9).all() or np.ptp(own) == 0.0
    assert np.mean(np.concatenate([*map(shares, plain)]) < 0.9) > 0.03
    found = measured.lasting.rules
    assert found[OWN].share > found[BARE].share


def test_a_margin_of_options_that_help_is_the_smallest_at_which_nine_of_ten_last_while_it_is_affordable() -> None:
    wide = SPEC.replace("max_change: 40", "max_change: 200") + "policy: {objective: cost, window: {steps: 4}}\n"
    codec = FeatureCodec(parse_spec(wide.encode()))
    people = np.array([[income, 0.5, 1.0, 0.0] for income in np.linspace(0.2, 0.3, 10)])

    def score(X: np.ndarray) -> np.ndarray:
        return X[:, 0]

    def by(*shifts: float) -> float:
        others = [lambda X, shift=shift: X[:, 0] - shift for shift in shifts]
        return affordable_margin(unsaved_program(codec, score, [], [], None), others, people)

    assert by(0.0, 0.0) == 0.0
    assert by(0.03, 0.0) == 0.05
    # The one that is enough would cost more than a quarter, and cheaper ones make nothing last.
    assert by(0.12, 0.12) == 0.0
    # A cheaper one makes half of them last.
    assert by(0.12, 0.03) == 0.05


def test_where_options_are_to_help_a_measured_margin_is_the_affordable_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(margin, "affordable_margin", lambda unsaved, others, people: 0.05 if len(people) > 20 else 0.0)
    _, measured = trained(tmp_path, "policy: {margin: auto, window: {steps: 4}}\n", kind="logistic_regression")
    assert json.loads((tmp_path / "model" / "manifest.json").read_text())["margin"] == 0.05
    assert measured.margin is None
    assert BARE in measured.lasting.rules


@pytest.mark.parametrize(
    ("rest", "fault"),
    [
        ("policy: {lasting: 0.9}\npromise: {kind: retrains}\n", "the promise retrains says which models accept"),
        ("policy: {lasting: 0.9, goal: capacity}\ncapacity: {places: 3, round: P1D}\n", "asks for a score in rounds"),
        ("policy: {lasting: 1.5}\n", "lasting"),
    ],
)
def test_what_does_not_go_with_it_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture, rest: str, fault: str
) -> None:
    (tmp_path / "loan.yaml").write_text(SPEC + rest)
    assert main(["spec", "check", str(tmp_path / "loan.yaml")]) == 2
    assert fault in capsys.readouterr().err


def test_a_training_draws_in_one_order_whatever_is_asked_first(tmp_path: Path) -> None:
    write_loans(tmp_path / "loans.csv")
    (tmp_path / "loan.yaml").write_text(SPEC + BY_COST)
    loaded = load_program_spec(tmp_path / "loan.yaml")

    def fitted() -> Trained:
        fit: dict[str, Any] = {"calibrate": False, "retrains": 0, "dates": None, "tell": lambda _: None}
        return fit_model(tmp_path / "loans.csv", loaded, "logistic_regression", 0, **fit)

    def judged(trained: Trained) -> list[np.ndarray]:
        return [judge.score(trained.table.X) for judge in trained.samples.judges]

    first, last = fitted(), fitted()
    margin, scores = first.margin, judged(first)
    assert np.array_equal(judged(last), scores)
    assert last.margin == margin

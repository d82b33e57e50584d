"""The margin of a model: what training measures, and what happens where it is missing."""

from __future__ import annotations

import csv
import json
import re

import numpy as np
import pytest

from onward import load_program
from onward.agents.candidates.search import Search
from onward.agents.costs import L1
from onward.agents.goals import ThresholdGoal
from onward.agents.objective import Objective
from onward.streams.cli import main
from onward.streams.programs.training.margin import smallest_margin
from onward.streams.programs.training.unsaved_program import UnsavedProgram
from onward.testing.spaces import scaled_space
from onward.tests.support.loans import write_loans

PEOPLE = np.linspace(0.0, 0.45, 10)[:, np.newaxis] * [1.0, 0.0]
GENERATOR = Search.build(
    scaled_space(np.arange(2), ("up", "none"), np.full(2, 0.01)), np.zeros((0, 2)), Objective(L1())
)


def score(X):
    return X[:, 0]


def unsaved(score):
    return UnsavedProgram(GENERATOR, GENERATOR.space, Objective(L1()), score, 0.5)


def shifted(by):
    return lambda X: X[:, 0] - by


def test_it_is_the_smallest_at_which_nine_of_ten_others_accept():
    others = [shifted(0.0)] * 2 + [shifted(0.12)] * 17 + [shifted(0.3)]
    assert smallest_margin(unsaved(score), others, PEOPLE) == (0.15, 0.95)
    targets = GENERATOR.under(score, ThresholdGoal(0.5, 0.15)).propose(PEOPLE).points
    assert np.mean([(other(targets) > 0.5).mean() for other in others]) >= 0.9


def test_without_a_margin_that_is_enough_it_leaves_nine_of_ten_people_an_option():
    assert smallest_margin(unsaved(score), [shifted(0.9)], PEOPLE) == (0.45, 0.0)
    assert smallest_margin(unsaved(lambda X: X[:, 0].clip(max=0.62)), [shifted(0.9)], PEOPLE) == (0.1, 0.0)


def test_where_nobody_has_an_option_it_is_not_measured():
    nobody = smallest_margin(unsaved(lambda X: 0 * X[:, 0]), [score], PEOPLE)
    assert nobody == (0.0, None)


def test_models_that_agree_need_none():
    assert smallest_margin(unsaved(score), [score], PEOPLE) == (0.0, 1.0)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("margin")
    write_loans(folder / "loans.csv")
    assert (
        main(["spec", "draft", str(folder / "loans.csv"), "--label", "repaid", "--output", str(folder / "bare.yaml")])
        == 0
    )
    drafted = (
        (folder / "bare.yaml").read_text().replace("  generator: search", "  objective: cost\n  generator: search")
    )
    drafted = re.sub(r"(?m)^words: .*\n", "", drafted)
    (folder / "bare.yaml").write_text(drafted.replace("# margin: 0 ", "margin: 0 "))
    (folder / "auto.yaml").write_text(drafted.replace("# margin: 0 ", "margin: auto "))
    return folder


def train(folder, spec, model):
    line = ["train", str(folder / "loans.csv"), "--spec", str(folder / spec), "--output", str(folder / model)]
    return main([*line, "--estimator", "logistic_regression"])


def suggest(folder):
    return main(["suggest", str(folder / "loans.csv"), "--spec", str(folder / "auto.yaml"), "--json"])


def test_training_measures_it_where_the_spec_asks(folder, capsys):
    assert train(folder, "auto.yaml", "model") == 0
    told = capsys.readouterr()
    assert "fitting 20 more models on resamples of the data, to measure the margin" in told.err
    assert "above the threshold" in told.out
    assert '"margin": ' in (folder / "model" / "manifest.json").read_text()
    assert suggest(folder) == 0


def test_a_model_without_one_is_refused_where_the_spec_asks(folder, capsys, tmp_path):
    assert train(folder, "bare.yaml", "without") == 0
    text = (folder / "auto.yaml").read_text().replace("model/manifest.json", str(folder / "without" / "manifest.json"))
    (tmp_path / "auto.yaml").write_text(text)
    capsys.readouterr()
    assert main(["suggest", str(folder / "loans.csv"), "--spec", str(tmp_path / "auto.yaml")]) == 2
    assert "has no margin, which `margin: auto` needs: train a new one, or give a number" in capsys.readouterr().err


def test_a_margin_that_asks_for_a_score_above_1_is_refused(folder, capsys, tmp_path):
    assert train(folder, "auto.yaml", "measured") == 0
    measured = json.loads((folder / "measured" / "manifest.json").read_text())["margin"]
    capsys.readouterr()
    lines = (folder / "loans.csv").read_text().splitlines(keepends=True)
    (tmp_path / "few.csv").write_text("".join(lines[:21]))
    for threshold, code in ((0.99 - measured, 0), (1.0 - measured, 2)):
        model = f"{folder / 'measured' / 'manifest.json'}, threshold: {threshold}"
        (tmp_path / "high.yaml").write_text((folder / "auto.yaml").read_text().replace("model/manifest.json", model))
        assert main(["suggest", str(tmp_path / "few.csv"), "--spec", str(tmp_path / "high.yaml")]) == code
    assert f"the margin {measured:g} of model logistic-regression-" in capsys.readouterr().err


def test_a_model_without_a_linear_score_is_refused_where_the_generator_needs_one(folder, capsys):
    drafted = (folder / "bare.yaml").read_text().replace("model/manifest.json", "forest/manifest.json")
    (folder / "linear.yaml").write_text(drafted.replace("generator: search", "generator: linear"))
    line = ["train", str(folder / "loans.csv"), "--spec", str(folder / "bare.yaml"), "--output", str(folder / "forest")]
    assert main(line) == 0
    capsys.readouterr()
    assert main(["suggest", str(folder / "loans.csv"), "--spec", str(folder / "linear.yaml")]) == 2
    fault = (
        "has no linear score, which `generator: linear` needs: train a logistic regression, or give `generator: search"
    )
    assert fault in capsys.readouterr().err
    line = [str(folder / "linear.yaml") if word.endswith("bare.yaml") else word for word in line]
    assert main([*line[:-1], str(folder / "another")]) == 2
    assert f"the model {fault}" in capsys.readouterr().err


def test_a_target_score_stands_for_the_margin_up_to_it(folder):
    drafted = (folder / "bare.yaml").read_text().replace("model/manifest.json", "target/manifest.json")
    assert train(folder, "bare.yaml", "target") == 0
    with (folder / "loans.csv").open() as file:
        people = [row for row, _ in zip(csv.DictReader(file), range(60), strict=False)]
    answers = {}
    for rule in ("margin: 0.25", "target: 0.75", "margin: 0"):
        (folder / "rule.yaml").write_text(drafted.replace("margin: 0 ", f"{rule} "))
        answers[rule] = [str(answer) for answer in load_program(folder / "rule.yaml").suggest(people)]
    assert answers["target: 0.75"] == answers["margin: 0.25"] != answers["margin: 0"]


@pytest.mark.parametrize(
    ("rule", "message"),
    [
        ("margin: 0.5", "no score exceeds"),
        ("margin: 1.5", "margin"),
        ("margin: often", "margin"),
        ("target: 0.4", "a score of 0.4 is rejected: the threshold is 0.5"),
        ("target: 1", "target"),
        ("{target: 0.8, margin: 0.1}", "a target score and a margin cannot both be given"),
    ],
)
def test_a_margin_or_target_that_nobody_can_reach_is_refused(folder, tmp_path, capsys, rule, message):
    spec = tmp_path / "spec.yaml"
    own = "".join(f"{line}\n  " for line in rule.strip("{}").split(", ")).rstrip()
    spec.write_text((folder / "auto.yaml").read_text().replace("margin: auto", own))
    assert main(["spec", "check", str(spec)]) == 2
    assert message in capsys.readouterr().err

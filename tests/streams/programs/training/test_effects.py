"""What training says of the effects and computed features of a spec."""

from __future__ import annotations

import csv
import math
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from onward.environments.population import SPEC, Population
from onward.schemas.spec import Effect, Feature, ProgramSpec
from onward.schemas.specfile import load_spec
from onward.schemas.table import Table
from onward.streams.cli import main
from onward.streams.cli.display.new_model import print_model
from onward.streams.errors import UsageError
from onward.streams.programs.bundle.manifest import FittedEffect
from onward.streams.programs.effects import doubts_in_words, effects_in_force, lacking_effects
from onward.streams.programs.training.effects import FittedEffects, fit_effects
from onward.streams.programs.training.train import train

FILE = Path("loans.csv")
LOADED = load_spec(SPEC)


def fitted(effects: list[Any], computed: dict[str, str] | None = None, **numbers: Any) -> FittedEffects:
    """The effects fitted on these columns; None stands for a value that a row lacks."""
    names = list(numbers)
    features = [Feature(name, "continuous", bounds=(-1e9, 1e9), missing=0.0) for name in names]
    spec = ProgramSpec("loans", tuple(features), LOADED.spec.label, LOADED.spec.model)
    spec = msgspec.structs.replace(spec, effects=tuple(effects), computed=computed or {})
    cells = {name: [None if value is None else float(value) for value in own] for name, own in numbers.items()}
    count = len(cells[names[0]])
    rows = [{name: cells[name][row] or 0.0 for name in names} for row in range(count)]
    absent = {name: np.array([value is None for value in own]) for name, own in cells.items()}
    table = Table(rows, np.zeros(count, dtype=np.int64), np.zeros((count, 1)), absent=absent)
    return fit_effects(FILE, spec, table, np.arange(count))


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 2**31), st.floats(0.1, 50), st.sampled_from([-1, 1]), st.floats(0.05, 3))
def test_the_deviation_of_a_slope_is_that_of_the_correlation(seed: int, size: float, sign: int, noise: float) -> None:
    draw = np.random.default_rng(seed)
    x = draw.normal(3, size, 60)
    y = sign * 0.7 * x + draw.normal(0, noise, 60)
    [effect] = fitted([("x", "y")], x=x, y=y).effects
    r = np.corrcoef(x, y)[0, 1]
    assert effect.slope == pytest.approx(r * y.std() / x.std(), rel=1e-6, abs=1e-9)
    assert effect.deviation == pytest.approx(abs(effect.slope) * math.sqrt(1 / r**2 - 1), rel=1e-5, abs=1e-9)


def test_several_parents_are_fitted_together_and_a_slope_of_the_spec_is_held():
    draw = np.random.default_rng(0)
    a = draw.normal(0, 1, 500)
    b = a + draw.normal(0, 1, 500)
    y = 2 * a - 3 * b
    alone = fitted([("b", "y")], b=b, y=y).effects
    together = fitted([("a", "y"), ("b", "y")], a=a, b=b, y=y).effects
    held = fitted([Effect("a", "y", 2.0, 0.5), ("b", "y")], a=a, b=b, y=y).effects
    assert abs(alone[0].slope + 3) > 0.5
    assert [each.slope for each in together] == pytest.approx([2, -3])
    assert [each.deviation for each in together] == pytest.approx([0, 0], abs=1e-9)
    assert [(each.slope, each.deviation) for each in held] == [(2.0, 0.5), pytest.approx((-3, 0), abs=1e-9)]


def test_rows_that_lack_a_value_are_not_asked():
    x = [*np.arange(50.0), *[None] * 50]
    y = [*(2 * np.arange(50.0)), *[1000.0] * 50]
    assert fitted([("x", "y")], x=x, y=y).effects[0].slope == pytest.approx(2)


def test_a_slope_of_the_spec_that_the_data_contradict_is_told_with_both_numbers():
    x = np.arange(100.0)
    found = fitted([Effect("x", "y", slope=0.25)], x=x, y=-2 * x + np.sin(x))
    [line] = doubts_in_words(found.doubts, found.effects)
    assert line.startswith("effect x -> y: the spec says a slope of 0.25, and in the data it is -2.001,")
    unsure = fitted([Effect("x", "y", slope=0.25)], x=x, y=np.sin(x * 17.0))
    assert unsure.doubts is None


ROWS = np.arange(100.0)


@pytest.mark.parametrize(
    ("effects", "columns", "told"),
    [
        ([("x", "y")], {"x": ROWS[:29], "y": ROWS[:29]}, "29 rows have all of x, y, and 30 are needed"),
        ([("x", "y")], {"x": ROWS * 0, "y": ROWS}, "x is the same in all rows"),
        ([("x", "y")], {"x": ROWS, "y": ROWS * 0}, "y is the same in all rows"),
        ([("x", "y"), ("z", "y")], {"x": ROWS, "z": 3 - 2 * ROWS, "y": ROWS}, "x, z cannot be told apart"),
        ([Effect("x", "y", 2.0)], {"x": ROWS * 0, "y": ROWS}, "x is the same in all rows"),
    ],
)
def test_what_cannot_be_fitted_is_said_with_what_to_do(effects, columns, told):
    with pytest.raises(UsageError) as refused:
        fitted(effects, **columns)
    edge = " -> ".join((effects[0].from_, effects[0].to) if isinstance(effects[0], Effect) else effects[0])
    assert (
        str(refused.value) == f"loans.csv: the effect {edge} cannot be fitted: {told}: give its `slope` and `deviation`"
    )


def test_what_the_spec_says_all_of_needs_no_row():
    assert fitted([Effect("x", "y", 2.0, 0.0)], x=[1.0], y=[1.0]).effects == (FittedEffect("x", "y", 2.0, 0.0),)


def test_a_formula_that_few_rows_break_is_told_with_the_share_and_one_that_many_break_is_refused():
    a, b = ROWS + 1.0, np.where(ROWS < 1, 0.0, ROWS + 7.0)
    ratio = np.round(np.divide(a, b, where=b > 0, out=np.zeros(100)), 2)
    few, many = ratio.copy(), ratio.copy()
    few[5:8], many[5:12] = 9.0, 9.0
    found = fitted([], {"ratio": "a / b"}, a=a, b=b, ratio=few)
    assert list(doubts_in_words(found.doubts, found.effects)) == [
        "ratio: not what `computed` says in 3.0% of the rows: correct the formula or these rows",
        "ratio: `computed` is not defined in 1.0% of the rows, such as by a division by zero",
    ]
    with pytest.raises(UsageError, match=r"loans.csv: ratio is not `a / b` in 7.0% of the rows: correct `computed`"):
        fitted([], {"ratio": "a / b"}, a=a, b=b, ratio=many)
    with pytest.raises(UsageError, match=r"`a / b` is defined in no row, so ratio cannot follow"):
        fitted([], {"ratio": "a / b"}, a=a, b=b * 0, ratio=ratio)


def test_what_the_spec_says_counts_before_what_was_fitted():
    spec = msgspec.structs.replace(LOADED.spec, effects=(("a", "b"), Effect("b", "c", slope=5.0), ("c", "d")))
    known = (FittedEffect("a", "b", 1.0, 0.1), FittedEffect("b", "c", 2.0, 0.2))
    assert effects_in_force(spec, known) == (known[0], FittedEffect("b", "c", 5.0, 0.2))
    assert lacking_effects(spec, known) == "c -> d"
    assert lacking_effects(spec, msgspec.UNSET) == "a -> b, b -> c, c -> d"
    assert lacking_effects(msgspec.structs.replace(spec, effects=()), msgspec.UNSET) is None


def test_a_trained_model_says_what_follows(tmp_path, capsys):
    policy = msgspec.structs.replace(LOADED.spec.policy, margin=0.0, generator="adapted", objective="cost")
    edges = (Effect("monthly_income", "savings"), Effect("monthly_income", "loan_amount", slope=-0.5, at_bounds="stop"))
    spec = msgspec.structs.replace(LOADED.spec, policy=policy, effects=edges)
    table, file = Population(seed=1).table(spec, 800), tmp_path / "loans.csv"
    with file.open("w", newline="") as stream:
        writer = csv.DictWriter(stream, [*table.rows[0], "repaid"])
        writer.writeheader()
        writer.writerows({**row, "repaid": label} for row, label in zip(table.rows, table.labels, strict=True))
    manifest = train(file, replace(LOADED, spec=spec), tmp_path / "model", estimator="logistic_regression", seed=0)
    assert [(each.from_, each.to) for each in manifest.effects] == [(each.from_, each.to) for each in edges]
    assert manifest.effects[1].slope == -0.5
    assert lacking_effects(spec, manifest.effects) is None
    print_model(manifest, spec, tmp_path / "model")
    told = capsys.readouterr()
    assert "effect monthly_income -> loan_amount: -0.5 for each 1, give or take" in told.out
    low, high = next(each.bounds for each in spec.features if each.name == "loan_amount")
    assert f"(as the spec says, stops at {low:g} and {high:g})" in " ".join(told.out.split())
    assert told.out.count("effect") == 2
    assert ("effect monthly_income -> loan_amount: the spec says a slope of -0.5" in told.err) == bool(
        manifest.measured.effects and manifest.measured.effects.against
    )
    # And so does the check of its spec, once there is a model.
    text = re.sub(r"(?m)^words:.*\n", "", SPEC.read_text())
    told_spec = tmp_path / "loan.yaml"
    edges = "effects:\n  - {from: monthly_income, to: loan_amount, slope: -0.5}\n  - [years_in_job, savings]\n"
    told_spec.write_text(text.replace(str(LOADED.spec.model.manifest), "model/manifest.json") + edges)
    assert main(["spec", "check", str(told_spec)]) == 0
    told = capsys.readouterr().err
    assert "years_in_job: nobody can change it, so nothing ever follows for savings" in told
    assert "its model knows no slope and deviation of years_in_job -> savings: train it again, or give both" in told
    assert ("effect monthly_income -> loan_amount: the spec says" in told) == bool(
        manifest.measured.effects and manifest.measured.effects.against
    )

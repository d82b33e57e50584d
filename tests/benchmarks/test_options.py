from __future__ import annotations

import math

import numpy as np
import pytest

from onward.benchmarks import face
from onward.benchmarks.options import Args, options
from onward.benchmarks.recourse import dice
from onward.benchmarks.recourse.rules import broken_rules
from onward.environments.population import SPEC, Population
from onward.schemas.encoding import FeatureCodec
from onward.schemas.specfile import load_spec
from onward.streams.errors import UsageError

QUICK = ["--quick", "--max-changes", "2", "--models", "logistic"]


def test_the_search_is_held_against_instances_the_optimum_and_the_truth(monkeypatch, tmp_path, capsys):
    monkeypatch.setattr(dice, "PYTHON", tmp_path / "nowhere")
    plot = tmp_path / "figures" / "curve.svg"
    rows = {row.name: row for row in options(face.parse(Args, None, [*QUICK, "--plot", str(plot)]))}
    title, sweep = "population, logistic, 2 changes", "population, logistic, 12 specs of 1 people"
    assert rows[f"{title}: none"].value <= rows[f"{title}: none"].reference
    assert 1.0 <= rows[f"{title}: cost / optimum, coarse"].value < math.inf
    assert rows[f"{title}: none, coarse"].value == 0.0
    assert 0.0 <= rows[f"{sweep}: none"].value <= rows[f"{sweep}: none, worst spec"].value
    assert 1.0 <= rows[f"{sweep}: cost / optimum"].value <= rows[f"{sweep}: cost / optimum, worst spec"].value
    bare, safe = (row for name, row in rows.items() if "true improvement" in name)
    assert 0.0 < bare.value == safe.reference < safe.value < 1.0
    assert b"population, logistic, 2 changes" in plot.read_bytes()
    assert "DiCE is left out: it is not installed" in capsys.readouterr().err


def test_a_data_set_or_plot_that_cannot_be_is_refused_before_anything_is_measured(tmp_path):
    with pytest.raises(UsageError, match="--data-sets nobody: there are credit, diabetes, compas"):
        next(options(face.parse(Args, None, [*QUICK, "--data-sets", "nobody"])))
    with pytest.raises(UsageError, match="--models oracle: there are logistic, forest"):
        next(options(face.parse(Args, None, [*QUICK, "--models", "oracle"])))
    with pytest.raises(UsageError, match="cannot be written"):
        next(options(face.parse(Args, None, [*QUICK, "--plot", str(tmp_path)])))


def test_every_rule_that_a_target_breaks_is_counted():
    codec = FeatureCodec(load_spec(SPEC).spec)
    person = next(
        row
        for row in Population(seed=0).table(codec.spec, 200).rows
        if row["missed_payments_two_years"] == 1 and row["age_band"] == "30_to_49" and row["monthly_income"] < 5000
    )
    encoded = codec.encode_many([person])[0]

    def broken(most=9, **changes):
        return dict(broken_rules(codec, encoded, codec.encode_many([person | changes])[0], most))

    assert broken() == {}
    assert broken(monthly_income=person["monthly_income"] + 10, missed_payments_two_years=0) == {}
    assert broken(age_band="50_and_over") == {"immutable": 1}
    assert broken(missed_payments_two_years=2) == {"direction": 1}
    assert broken(monthly_income=person["monthly_income"] + 5) == {"step": 1}
    assert broken(monthly_income=13_000) == {"bounds": 1}
    assert broken(most=1, monthly_income=person["monthly_income"] + 10, savings=80_000) == {"max_changes": 1}
    assert broken(monthly_debt_payments=6000, monthly_income=800)["constraint"] == 1
    assert np.isfinite(encoded).all()

from __future__ import annotations

import contextlib
import io
import math

import numpy as np
import pytest
from msgspec.structs import replace

from onward.benchmarks import face
from onward.benchmarks.options import Args, options
from onward.benchmarks.peers import process
from onward.benchmarks.recourse import effects
from onward.benchmarks.recourse.cases import sources
from onward.benchmarks.recourse.figures import SEPARATOR, tables
from onward.benchmarks.recourse.rules import broken_rules
from onward.benchmarks.truth.settings import spec_text
from onward.environments.population import SPEC, Population
from onward.schemas.encoding import FeatureCodec
from onward.schemas.specfile import load_spec, parse_spec
from onward.streams.errors import UsageError

QUICK = ["--quick", "--max-changes", "2", "--models", "logistic"]
TITLE = "population, logistic, 2 changes"


@pytest.fixture(scope="module")
def measured(tmp_path_factory):
    """The rows by title, line and figure, the plot, and what standard error got."""
    folder = tmp_path_factory.mktemp("options")
    plot, told = folder / "figures" / "curve.svg", io.StringIO()
    with pytest.MonkeyPatch.context() as patch, contextlib.redirect_stderr(told):
        patch.setattr(process, "BUILD", folder / "nowhere")
        rows = list(options(face.parse(Args, None, [*QUICK, "--plot", str(plot)])))
    return {tuple(row.name.split(SEPARATOR)): row for row in rows}, plot, told.getvalue()


@pytest.mark.slow
def test_every_generator_gets_a_line_and_those_of_options_made_for_people_a_margin(measured):
    rows, _, _ = measured
    lines = [line for title, line, figure in rows if title == TITLE and figure == "none"]
    assert lines[:4] == ["adapted", "instances", "linear", "search"]
    assert [line.split(",")[0] for line in lines[4:]] == ["search", "adapted"]
    bare, safe = (rows[TITLE, line, "true improvement"].value for line in ("search", lines[4]))
    assert 0.0 < bare < safe < 1.0
    assert rows[TITLE, "search", "none"].value <= rows[TITLE, "instances", "none"].value
    assert rows[TITLE, "search", "changes"].aim == 2.0
    assert rows[TITLE, "instances", "changes"].aim is None


@pytest.mark.slow
def test_the_generators_are_held_against_the_optimum(measured):
    rows, _, _ = measured
    coarse, sweep = f"{TITLE}, coarse grids", "population, logistic, 12 specs of 1 people"
    assert rows[coarse, "exhaustive", "cost"].value <= rows[coarse, "search", "cost"].value
    assert rows[coarse, "search", "none"].aim == rows[coarse, "exhaustive", "none"].value + 0.01
    for name in ("search", "adapted"):
        assert 1.0 <= rows[coarse, name, "cost / optimum"].value < math.inf
        assert 0.0 <= rows[sweep, name, "none above it"].value <= rows[sweep, name, "worst spec"].value
        assert 1.0 <= rows[sweep, name, "cost / optimum"].value <= rows[sweep, name, "worst spec's"].value


@pytest.mark.slow
def test_times_of_a_person_have_their_aims(measured):
    rows, _, _ = measured
    aims = {line.split(",")[0] + line.split(",")[1]: row.aim for (_, line, _), row in rows.items() if row.unit == "ms"}
    assert aims["linear logistic"] == 0.06
    assert aims["search forest of full trees"] == 12.0
    assert aims["adapted forest of full trees"] == 6.0
    assert all(row.value > 0 for row in rows.values() if row.unit == "ms")


@pytest.mark.slow
def test_the_cpu_of_a_rejected_person_in_a_drafted_program_is_measured(measured):
    rows, _, _ = measured
    line = {figure: row for (title, name, figure), row in rows.items() if name == "23 open features, forest"}
    always = {"alone, median", "alone, p99", "in blocks", "no option", "explained"}
    assert always <= set(line) <= {*always, "not helped, explained"}
    assert all(row.value > 0.0 and row.unit == "us" for row in line.values())
    assert line["alone, median"].value <= line["alone, p99"].value


@pytest.mark.slow
def test_the_tables_show_aims_and_the_curve_is_drawn_without_dice(measured):
    rows, plot, told = measured
    first = next(iter(tables(rows.values())))
    assert first.title == TITLE
    assert first.row_count == 6
    assert "<= 2" in str(next(iter(first.columns[2].cells)))
    assert b"population, logistic, 2 changes" in plot.read_bytes()
    assert "DiCE kdtree is left out: it is not installed" in told


def test_a_kept_draft_is_the_spec_of_a_data_set_without_one(tmp_path):
    kept = parse_spec(spec_text("german"))
    lines = [[feature.bounds[n % 2] for feature in kept.features] + [n % 2] for n in range(4)]
    names = [*(feature.name for feature in kept.features), "credit_risk"]
    (tmp_path / "german.csv").write_text("\n".join(",".join(map(str, line)) for line in [names, *lines]))
    _, drafted = sources(tmp_path, ("german",), 0)
    assert drafted.codec.spec == kept
    assert drafted.table.labels.tolist() == [0, 1, 0, 1]
    assert drafted.truth is None


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        (["--data-sets", "nobody"], "--data-sets nobody: there are credit, diabetes, compas, german"),
        (["--models", "oracle"], "--models oracle: there are logistic, forest, booster"),
        (["--swept", "nobody"], "--swept nobody: there are population"),
        (["--timed", "nobody"], "--timed nobody: there are population"),
        (["--dice", "nobody"], "--dice nobody: there are population"),
        (["--plot", "."], "cannot be written"),
    ],
)
def test_what_cannot_be_is_refused_before_anything_is_measured(flags, message):
    with pytest.raises(UsageError, match=message):
        next(options(face.parse(Args, None, [*QUICK, *flags])))


def test_every_rule_that_a_target_breaks_is_counted():
    codec = FeatureCodec(load_spec(SPEC).spec)
    person = next(
        row
        for row in Population(seed=0).table(codec.spec, 200).rows
        if row["age_band"] == "30_to_49" and row["monthly_income"] < 5000 and row["card_utilisation"] < 95
    )
    encoded = codec.encode_many([person])[0]

    def broken(most=9, **changes):
        return dict(broken_rules(codec, encoded, codec.encode_many([person | changes])[0], most))

    allowed = {"monthly_income": person["monthly_income"] + 50, "savings": person["savings"] + 500}
    assert broken() == {}
    assert broken(**allowed) == {}
    assert broken(age_band="50_and_over") == {"immutable": 1}
    assert broken(card_utilisation=person["card_utilisation"] + 5) == {"direction": 1}
    assert broken(monthly_income=person["monthly_income"] + 5) == {"step": 1}
    assert broken(card_utilisation=person["card_utilisation"] - 100) == {"bounds": 1}
    assert broken(monthly_income=person["monthly_income"] + 5000) == {"max_change": 1}
    assert broken(1, **allowed) == {"max_changes": 1}
    assert broken(monthly_debt_payments=6000, monthly_income=800)["constraint"] == 1
    assert np.isfinite(encoded).all()


@pytest.mark.slow
def test_the_cpu_with_twenty_effects_is_beside_that_of_the_same_program_without(measured):
    rows, _, _ = measured
    lines = {(line, figure): row for (title, line, figure), row in rows.items() if title == effects.TITLE}
    for figure in ("alone, mean", "in blocks"):
        for name in (effects.FOLLOWED, effects.ONLY):
            plain, followed, ratio = (lines[line, figure] for line in (effects.PLAIN, name, f"ratio, {name}"))
            assert ratio.value == pytest.approx(followed.value / plain.value)
            assert ratio.aim == 1.3
            assert plain.value > 0.0


def test_the_followed_program_differs_by_twenty_effects_alone():
    plain = parse_spec(effects.spec_text().encode())
    followed = parse_spec(effects.spec_text(effects.edges()).encode())
    assert len(followed.effects) == 20
    assert replace(followed, effects=()) == plain
    only = parse_spec(effects.spec_text(effects.edges(), "follows").encode())
    assert sum(feature.may_change for feature in only.features) == 4

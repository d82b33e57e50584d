"""Each rule on answers and data made by hand: what it finds, and what is just too little."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest

from onward.schemas.events import Change, NoRecourse, Option, Recourse
from onward.schemas.spec import ProgramSpec
from onward.schemas.specfile import parse_spec
from onward.schemas.table import LabelledRows, RawTable
from onward.streams.programs.bundle.manifest import BundleFile, Manifest
from onward.streams.programs.bundle.measured import Lasted, Margin, Measured, MeasuredLasting
from onward.streams.review.evidence import Evidence
from onward.streams.review.rules import Finding
from onward.streams.review.rules.coherence import leaves_total
from onward.streams.review.rules.columns import rows_told_apart, stands_apart
from onward.streams.review.rules.directions import against_data
from onward.streams.review.rules.lasting import dies
from onward.streams.review.rules.options import doubles, up_to_a_point
from onward.streams.review.rules.people import below_floor, far_from_label, third_outcomes, without_option
from onward.streams.review.uses import uses

SPEC = """\
program: p
features:
  - {name: part, type: integer, bounds: [0, 9999]}
  - {name: rest, type: integer, bounds: [0, 9999], mutable: none}
  - {name: total, type: integer, bounds: [0, 19998], mutable: none}
  - {name: grade, type: ordinal, levels: [low, mid, high]}
  - {name: job, type: categorical, categories: [cook, nurse, unknown]}
label: {name: ok}
model: {manifest: model/manifest.json}
"""
FLOOR = "policy: {least_help: 0.5}\n"
RANDOM = np.random.default_rng(3)
ROWS = 200
FILE = BundleFile("f", 0, "")


def rows() -> list[dict[str, Any]]:
    """People whose `total` is the sum of `part` and `rest`."""
    table = []
    for _ in range(ROWS):
        part, rest = (int(number) for number in RANDOM.integers(100, 5000, 2))
        grade, job = str(RANDOM.choice(["low", "mid", "high"])), str(RANDOM.choice(["cook", "nurse"]))
        table.append({"part": part, "rest": rest, "total": part + rest, "grade": grade, "job": job})
    return table


PEOPLE = rows()


def evidence(
    answers: Sequence[Recourse | NoRecourse] = (),
    *,
    added: str = "",
    measured: Measured | None = None,
    labels: Sequence[bool] | None = None,
    approved: Sequence[bool] | None = None,
    people: Sequence[dict[str, Any]] = PEOPLE,
) -> Evidence:
    spec = parse_spec((SPEC + added).encode())
    assert isinstance(spec, ProgramSpec), spec
    manifest = Manifest(
        program="p",
        version="v",
        estimator="e",
        columns=(),
        features=(),
        model=FILE,
        instances=FILE,
        measured=measured or Measured(),
    )
    outcome = np.array(labels if labels is not None else [number % 2 for number in range(len(people))])
    raw = RawTable(Path("p.csv"), {name: [str(row[name]) for row in people] for name in people[0]}, range(len(people)))
    read = LabelledRows(raw, list(people), outcome.astype(np.int64), np.zeros(len(people), dtype=np.bool_))
    decided = np.array(outcome if approved is None else approved, dtype=np.bool_)
    return Evidence(spec, manifest, read, decided, {str(at): row for at, row in enumerate(people)}, list(answers))


def told(person: int, *changes: Change, helps: float = 0.9) -> Recourse:
    option = Option("1", changes, 0.1, 0.9, 1.0, improvement_probability=helps)
    return Recourse("p", 0, str(person), 0, (option,), "residual", "v", "s", "m")


def none(person: int, reason: str, advice: str | msgspec.UnsetType = msgspec.UNSET) -> NoRecourse:
    return NoRecourse("p", 0, str(person), 0, reason, "no", "residual", "v", "s", "m", advice=advice)


def lowered(person: int, **others: int) -> Recourse:
    now = PEOPLE[person]
    changes = [Change("part", now["part"], now["part"] - 50)]
    return told(person, *changes, *(Change(name, now[name], now[name] + by) for name, by in others.items()))


def test_a_part_that_is_lowered_without_its_total_is_told_and_one_with_it_is_not() -> None:
    [found] = leaves_total(evidence([lowered(person) for person in range(20)]))
    assert found.path == ("features", 0, "mutable")
    assert found.figure == 1.0
    assert "20 of 20 options change it" in found.text
    assert "total" in found.text
    assert not list(leaves_total(evidence([lowered(person, total=-50) for person in range(20)])))


def test_what_follows_from_two_numbers_does_not_stay_where_one_of_them_changes() -> None:
    left = [row | {"total": row["part"] - row["rest"]} for row in PEOPLE]
    [found] = leaves_total(evidence([lowered(person) for person in range(20)], people=left))
    assert "part: 20 of 20 options change it, and" in found.text
    assert "in every row, and no longer then" in found.text


def test_a_percentage_does_not_stay_where_its_part_changes() -> None:
    left = [row | {"total": round(row["part"] / row["rest"] * 100)} for row in PEOPLE]
    [found] = leaves_total(evidence([lowered(person) for person in range(20)], people=left))
    assert "total is 'part' / 'rest' * 100 in every row, and no longer then" in found.text


def test_numbers_that_have_nothing_to_do_with_each_other_may_change_alone() -> None:
    strangers = [row | {"total": int(RANDOM.integers(0, 9999))} for row in PEOPLE]
    assert not list(leaves_total(evidence([lowered(person) for person in range(20)], people=strangers)))


def test_options_that_double_a_number_are_told() -> None:
    def raised(times: float) -> list[Recourse]:
        return [told(at, Change("part", 100 + at, int((100 + at) * times))) for at in range(9)]

    [found] = doubles(evidence(raised(3.0)))
    assert found.path == ("features", 0, "max_change")
    assert found.figure == pytest.approx(3.0)
    assert not list(doubles(evidence(raised(1.5))))


def test_options_that_only_work_up_to_a_point_are_told_where_there_are_many() -> None:
    def some(limited: int) -> list[Recourse]:
        ends = [Change("part", 9, 5, at_most=3), Change("part", 9, 5)]
        return [told(at, ends[at >= limited]) for at in range(40)]

    [found] = up_to_a_point(evidence(some(20)))
    assert "part: 20 of 40 options work only up to a point" in found.text
    assert not list(up_to_a_point(evidence(some(6))))


def test_a_text_that_says_no_value_is_no_target_and_a_code_no_place_to_begin() -> None:
    [found] = stands_apart(evidence([told(0, Change("job", "cook", "unknown"))]))
    assert "people are told to reach 'unknown', which says no value; 1 of 1 options begin or end there" in found.text
    coded = [row | {"rest": 99999 if at < 9 else row["rest"]} for at, row in enumerate(PEOPLE)]
    [found] = stands_apart(evidence([told(0, Change("rest", 99999, 50000))], people=coded))
    assert "rest: 99999 (9 times) apart from" in found.text
    assert "write `not_given: [99999]` if so; 1 of 1 options" in found.text
    assert not list(stands_apart(evidence([told(0, Change("job", "cook", "nurse"))])))


def test_a_label_of_three_values_is_told_and_one_of_two_spellings_of_a_value_is_not() -> None:
    outcomes = ["1" if at % 2 else "0.0" if at % 3 else "0" for at in range(ROWS)]
    assert not list(third_outcomes(evidence(people=[row | {"ok": "1"} for row in PEOPLE], labels=[True] * ROWS)))
    for codes, lines in ((0, 0), (9, 1)):
        people = [row | {"ok": "-9" if at < codes else outcomes[at]} for at, row in enumerate(PEOPLE)]
        found = list(third_outcomes(evidence(people=people, labels=[row["ok"] == "1" for row in people])))
        assert len(found) == lines
    assert found[0].figure == pytest.approx(9 / ROWS)
    assert "-9 (9 times) counts as an unwanted outcome, as 0" in found[0].text
    assert "write `not_given: [-9]`" in found[0].text


def test_numbers_given_out_one_to_each_are_no_feature_whatever_they_are_called() -> None:
    places = RANDOM.permutation(900)[:ROWS]
    numbered = [row | {"rest": int(place)} for row, place in zip(PEOPLE, places, strict=True)]
    assert [found.feature for found in rows_told_apart(evidence(people=numbered))] == ["rest"]
    assert not list(rows_told_apart(evidence()))


def test_levels_that_most_options_lower_against_the_data_are_told() -> None:
    better = [row["grade"] == "high" or (row["grade"] == "mid" and at % 2 == 0) for at, row in enumerate(PEOPLE)]
    down = [told(at, Change("grade", "high", "low")) for at in range(9)]
    up = [told(at, Change("grade", "low", "high")) for at in range(9)]
    [found] = against_data(evidence(down, labels=better))
    assert "grade: 9 of 9 options lower it" in found.text
    assert not list(against_data(evidence(up, labels=better)))


def test_people_below_the_floor_are_counted_apart_from_those_who_have_none_for_another_reason() -> None:
    answers = [none(at, "would_not_help" if at < 6 else "out_of_reach", "let job change") for at in range(14)]
    told_of = evidence(answers, added=FLOOR)
    [lost] = below_floor(told_of)
    assert lost.path == ("policy", "least_help")
    assert "6 of 14 rejected people have only options that would not help, below `least_help: 0.5`" in lost.text
    [out] = without_option(told_of)
    assert "8 of 14 rejected people have no option (out of reach); for 8 of them: let job change" in out.text


def test_without_a_floor_options_that_leave_people_below_even_odds_are_told() -> None:
    answers = [told(at, Change("part", 9, 5), helps=0.3 if at < 6 else 0.8) for at in range(20)]
    [found] = below_floor(evidence(answers))
    assert "6 of 20 options leave people with less than even odds" in found.text
    assert not list(below_floor(evidence(answers[5:])))


@pytest.mark.parametrize(("approved", "is_far"), [(0.5, False), (0.62, False), (0.75, True), (0.2, True)])
def test_an_approval_rate_far_from_the_labels_is_told(approved: float, is_far: bool) -> None:
    decisions = [at < approved * ROWS for at in range(ROWS)]
    assert bool(list(far_from_label(evidence(approved=decisions)))) is is_far


def test_a_model_that_rejects_few_of_the_few_who_fail_is_told() -> None:
    fails = [at >= 20 for at in range(ROWS)]
    [found] = far_from_label(evidence(labels=fails, approved=[at >= 2 for at in range(ROWS)]))
    assert "the model rejects 1.0%, and 10.0% do not have the wanted outcome: give a higher threshold" in found.text
    assert not list(far_from_label(evidence(labels=fails, approved=[at >= 12 for at in range(ROWS)])))


@pytest.mark.parametrize(("accepted", "lines"), [(None, 0), (0.95, 0), (0.7, 1)])
def test_options_that_few_retrained_models_accept_are_told(accepted: float | None, lines: int) -> None:
    measured = Measured(margin=None if accepted is None else Margin(accepted))
    assert len(list(dies(evidence(measured=measured)))) == lines


def test_the_cheapest_rule_by_which_enough_options_last_is_named() -> None:
    facts = {
        "own": (0.7, 1.0),
        "bare": (0.99, 0.9),
        "policy.margin: 0.1": (0.8, 1.1),
        "policy.margin: 0.2": (0.92, 1.4),
        "p": (0.95, 1.2),
    }

    def found(**shares: float) -> list[Finding]:
        rules = {rule: Lasted(shares.get(rule, share), 1.0, cost, 0.2) for rule, (share, cost) in facts.items()}
        return list(dies(evidence(measured=Measured(margin=Margin(0.95), lasting=MeasuredLasting(20, 30, rules)))))

    [finding] = found()
    assert finding.figure == 0.7
    gives = "with `p` {}, at 1.20 times the cost, and 20% of the people have none"
    assert finding.text.endswith(f"accept 70% of the options: {gives.format('95%')}")
    for best, words in (
        (0.8, f": no rule that training tried reaches 90%: {gives.format('80%')}"),
        (0.6, ": no rule that training tried reaches 90%, or more than that"),
    ):
        less = {rule: best for rule in facts if rule != "own"}
        [finding] = found(**less | {"p": best + 0.001})
        assert finding.text.endswith(words)
    assert not found(own=0.9)


def test_a_feature_of_every_option_of_somebody_is_their_only_way() -> None:
    both = told(0, Change("part", 9, 5), Change("grade", "low", "high"))
    other = msgspec.structs.replace(both, options=(*both.options, *told(0, Change("part", 9, 1)).options))
    part, grade = uses(evidence([other]))
    assert (part.name, part.options, part.told, part.only, part.median, part.most) == ("part", 2, 1, 1, -6, -8)
    assert (grade.name, grade.options, grade.only, grade.median) == ("grade", 1, 0, 2)

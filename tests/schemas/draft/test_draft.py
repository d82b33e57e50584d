"""Drafts of specs: what is kept, left out and guessed, and that a draft always reads its own file."""

import csv
import os
import random
import re
from datetime import date, timedelta
from itertools import product
from pathlib import Path

import msgspec
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from onward.schemas.computed import expression
from onward.schemas.draft import draft_spec
from onward.schemas.draft.bounds import outward
from onward.schemas.draft.labels import label_value
from onward.schemas.draft.names import AMOUNT_ASKED_FOR, SUBJECTS
from onward.schemas.draft.questions import DraftAnswers, DraftDecisions
from onward.schemas.not_given import is_not_given
from onward.schemas.spec import UNDECIDED, Constraints, Label, ProgramSpec
from onward.schemas.specfile import load_spec, parse_spec
from onward.schemas.table import TableError, read_table
from onward.schemas.unlabelled import Unlabelled
from onward.schemas.yamltree import YamlDocument
from onward.streams.ingest.partitioning import partition_of
from onward.streams.journal.entries import journal_key

ROOT = Path(__file__).parents[3]
DATA = Path(os.environ.get("ONWARD_SHARED", ROOT.parent / "shared")) / "data"
ROWS = 240


def written(folder, columns, label, name="loans.csv"):
    """A data file of columns, lists of equal length."""
    file = folder / name
    with file.open("w", newline="", encoding="utf-8") as stream:
        writer = csv.writer(stream)
        writer.writerow([*columns, "y"])
        writer.writerows(zip(*columns.values(), label, strict=True))
    return file


def people(seed=0):
    """Hidden quality of ROWS people, and a label that mostly follows it."""
    generator = random.Random(seed)
    quality = [generator.gauss(0, 1) for _ in range(ROWS)]
    return generator, quality, [int(value + generator.gauss(0, 1) > 0) for value in quality]


def parsed(draft):
    """The spec of a draft, also of one in which nothing may change."""
    spec = parse_spec(draft.text.encode())
    if isinstance(spec, ProgramSpec):
        return spec
    assert {problem.message for problem in spec} == NOTHING_TO_CHANGE, (draft.text, spec)
    return msgspec.convert(YamlDocument(draft.text.encode()).value, ProgramSpec)


def decisions(**mutable):
    """What somebody has said: y is desired where it is 1, and what people can change."""
    return DraftDecisions(DraftAnswers({"y": 1}, mutable))


def features(draft):
    return {feature.name: feature for feature in parsed(draft).features}


def test_a_draft_has_as_many_shards_as_let_six_partitions_share_the_work_of_most_programs(tmp_path):
    _, quality, label = people()
    shards = parsed(draft_spec(written(tmp_path, {"income": [round(40 + 10 * v) for v in quality]}, label), "y")).shards
    names = [f"loans-{number}" for number in range(200)]
    used = [len({partition_of(journal_key(name, shard), 6) for shard in range(shards)}) for name in names]
    assert np.mean(used) > 5.9
    assert min(used) >= 4


def test_columns_that_are_no_features_are_left_out_with_the_reason(tmp_path):
    generator, quality, label = people()
    columns = {
        "income": [round(40 + 10 * value) for value in quality],
        "customer_id": [9000 + 7 * generator.randrange(10**6) for _ in quality],
        "row": range(ROWS),
        "applied": [(date(2025, 1, 1) + timedelta(days=i)).strftime("%d.%m.%Y") for i in range(ROWS)],
        "closed_date": [20000 + generator.randrange(900) for _ in quality],
        "day": [20250101 + i % 28 for i in range(ROWS)],
        "fiscal_year": [2020 + i % 5 for i in range(ROWS)],
        "zip": [10000 + 11 * generator.randrange(90) for _ in quality],
        "name": [f"n{i}" for i in range(ROWS)],
        "town": [f"t{i % 60}" for i in range(ROWS)],
        "share": ["NA", *(f"{i % 40} %" for i in range(1, ROWS))],
        "money": [f"${i % 90 * 50:,}" for i in range(ROWS)],
        "earned": [f"{2745 + 7 * i},{10 + i % 90}" for i in range(ROWS)],
        "spent": [f"{3 + i % 9},{100 + i}.20" for i in range(ROWS)],
        "phone": [f"030 {1234 + i}" for i in range(ROWS)],
        "flag": ["1"] * ROWS,
        "gaps": ["", "NA", "3", "4"] * (ROWS // 4),
        "status": ["paid" if one else "sold" for one in label],
        "end:good": label,
        "end:bad": [1 - one for one in label],
        "written_off": [0 if one else generator.randint(1, 500) for one in label],
    }
    draft = draft_spec(written(tmp_path, columns, label), "y")
    assert list(features(draft)) == ["income"]
    date_reason = "it holds dates: a feature would be a time that has passed, such as an age"
    leak_reason = "it alone tells the label: probably known only afterwards, or a copy of it"
    assert draft.left_out == {
        "customer_id": "it numbers the rows: an identifier",
        "row": "it numbers the rows: an identifier",
        "applied": date_reason,
        "closed_date": date_reason,
        "day": date_reason,
        "fiscal_year": date_reason,
        "zip": "it holds codes, whose size means nothing",
        "name": "almost every row has a text of its own",
        "town": "60 different texts",
        "share": "numbers with other characters, such as '1 %': write plain numbers, such as 1200.5",
        "money": "numbers with other characters, such as '$0': write plain numbers, such as 1200.5",
        "earned": "numbers with other characters, such as '2745,10': write plain numbers, such as 1200.5",
        "spent": "numbers with other characters, such as '3,100.20': write plain numbers, such as 1200.5",
        "phone": "almost every row has a text of its own",
        "flag": "it has one value only",
        "gaps": f"{ROWS // 2} of {ROWS} cells have no value",
        "status": leak_reason,
        "end": leak_reason,
        "written_off": leak_reason,
    }
    for name, reason in draft.left_out.items():
        assert f"  # not used, {name!a}: {reason}\n" in draft.text


def test_few_empty_cells_get_the_median_or_the_most_frequent_value(tmp_path):
    columns = {
        "income": ["", "NA", *range(10, 28)],
        "region": ["", *["north"] * 8, *["south"] * 11],
        "savings": ["?", *[f"{i}.5" for i in range(19)]],
    }
    file = written(tmp_path, columns, [0, 1] * 10)
    draft = draft_spec(file, "y", decisions())
    drafted = features(draft)
    assert [drafted[name].missing for name in columns] == [18, "south", 9.5]
    assert "# guess: missing is the median, for 2 cells without a value" in draft.text
    assert read_table(file, parsed(draft)).rows[0] == {"income": 18, "region": "south", "savings": 9.5}


def test_nobody_is_asked_to_earn_much_more_where_everybody_earns_something(tmp_path):
    income, wage, savings = (
        [low + 50 * (n * n % 101) // 101 for n in range(low + 1, low + 101)] for low in (20, 0, 20)
    )
    columns = {"income": income, "wage": wage, "savings": savings[::-1]}
    drafted = draft_spec(written(tmp_path, columns, [i // 2 % 2 for i in range(100)]), "y", decisions())
    assert {name: feature.max_change for name, feature in features(drafted).items()} == {
        "income": "50%",
        "wage": 10.0,
        "savings": 20.0,
    }
    assert "at most by what the middle half of people differ" in drafted.text
    assert "# guess: at most half as much again; better when higher, by its name" in drafted.text
    assert "# guess: at most half of the median, as some have none; better when higher, by its name" in drafted.text


def test_only_what_name_and_values_say_people_can_change_is_open(tmp_path):
    generator, quality, label = people()
    noise = {
        name: [generator.randint(0, 99) for _ in quality]
        for name in ("yearsInJob", "debts", "missed_payments_two_years", "loan_amount", "shoe_size", "age", "amount")
    }
    columns = {
        **noise,
        "education": [generator.choice(["master", "secondary", "bachelor"]) for _ in quality],
        "parents_education": [generator.choice(["master", "secondary", "bachelor"]) for _ in quality],
        "school": [generator.choice(["art", "music"]) for _ in quality],
        "region": [generator.choice(["north", "south"]) for _ in quality],
        "prior_loans": noise["shoe_size"][::-1],
        "person_home_ownership": [generator.choice(["own", "rent"]) for _ in quality],
        "own_or_rent": noise["loan_amount"][::-1],
        "sector": [generator.choice(["trade", "health"]) for _ in quality],
        "monthlyIncome": [round(100 + 10 * value + generator.gauss(0, 9)) for value in quality],
        "total_income": [round(100 - 10 * value + generator.gauss(0, 3)) for value in quality],
        "savings": [generator.randint(1, 5) for _ in quality],
        "last_payment": [round(100 + 10 * value + generator.gauss(0, 5)) for value in quality],
    }
    draft = draft_spec(written(tmp_path, columns, label), "y", decisions())
    drafted = features(draft)
    open_ones = {name: feature.mutable for name, feature in drafted.items() if feature.mutable != "none"}
    assert open_ones == {"debts": "down", "loan_amount": "down", "education": "up", "monthlyIncome": "up"}
    assert drafted["education"].levels == ("secondary", "bachelor", "master")
    personal = [(name, feature.protected) for name, feature in drafted.items() if feature.pii]
    assert personal == [("age", True)]
    assert "# training leaves out what is protected; may_read: [age] lets the model decide by it\n" in draft.text
    assert draft.undecided == (
        *("shoe_size", "amount", "parents_education", "school", "sector"),
        *("total_income", "savings", "last_payment"),
    )
    said = comments(draft)
    assert re.fullmatch(r"undecided: \d+ values from 0 to 99, median \d+", said["shoe_size"])
    assert re.fullmatch(r"undecided: 2 values: '\w+' 5\d%, '\w+' [45]\d%", said["sector"])
    assert said["total_income"].startswith("undecided: better when higher by its name, but not in the data; ")
    assert said["savings"].startswith("undecided: better when higher by its name, but so few different numbers may be ")
    assert said["monthlyIncome"] == "guess: at most half as much again; better when higher, by its name"


def test_names_of_people_and_whether_they_are_old_are_personal(tmp_path):
    generator, _, label = people()
    personal = ("first_name", "name", "LastName", "maiden names", "old", "is_old", "yearsOld", "forename")
    others = ("filename", "old_balance", "threshold", "renamed")
    columns = {name: [generator.choice("abcd") for _ in label] for name in (*personal, *others)}
    drafted = features(draft_spec(written(tmp_path, columns, label), "y"))
    assert tuple(name for name, one in drafted.items() if one.pii and one.protected) == personal
    assert {one.mutable for one in drafted.values()} == {"none"}


def comments(draft):
    """The comments of the features by name."""
    return dict(re.findall(r"- \{name: (\w+), .*\}  # (.*)", draft.text))


OPENED = {
    "income": "up",
    "AnnualIncome": "up",
    "applicant_income_eur": "up",
    "total_savings": "up",
    "savings balance": "up",
    "credit_card_debt": "down",
    "monthly_debt_payments": "down",
    "RevolvingUtilizationOfUnsecuredLines": "down",
    "loan_amount": "down",
}
CLOSED = (
    *("minority_income_ratio", "income_verified", "parents_income", "area_median_income", "CoapplicantIncome"),
    *("income_2019", "loan_percent_income", "income/debts", "debt_income", "household_income", "income%", "einkommen"),
    *("income_at_default", "old_balance_at_default", "debts_of_others", "total_debt_paid_after_default"),
    *("savings_frozen_later", "sold_to", "purchaser_type", "last_payment", "balance", "amount", "payment"),
    *("prior_income", "income_of_previous_job", "bmi", "glucose", "credit_score", "score", "loan_amount_approved"),
    *("black", "hisp", "nom", "grp", "dep", "old", "unem", "appl_no", "dt", "yrs", "x", "ingreso", "收入", "income収"),
)


def test_a_name_opens_a_feature_only_where_every_word_of_it_is_known(tmp_path):
    generator, quality, label = people()
    columns = {name: [generator.randint(0, 999) for _ in quality] for name in (*OPENED, *CLOSED)}
    drafted = features(draft_spec(written(tmp_path, columns, label), "y"))
    assert {name: feature.mutable for name, feature in drafted.items() if feature.mutable != "none"} == OPENED
    assert {*drafted} == {*OPENED, *CLOSED}


VOCABULARY = frozenset[str]().union(*(subject.words | subject.beside for subject in (*SUBJECTS, AMOUNT_ASKED_FOR)))
UNKNOWN_WORDS = st.text("abcdefghijklmnopqrstuvwxyz", min_size=2, max_size=9) | st.sampled_from(
    ["2019", "7", "%", "/", "é", "収", "минус", "ratio2", "$", "minority", "later", "to"]
)


@settings(deadline=None, max_examples=30, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.sampled_from([*OPENED]), UNKNOWN_WORDS.filter(lambda word: word not in VOCABULARY), st.booleans())
def test_a_word_that_is_not_known_closes_any_feature(tmp_path, name, word, is_first):
    longer = f"{word}_{name}" if is_first else f"{name}_{word}"
    values = [10 * (7 * i % ROWS) for i in range(ROWS)]
    draft = draft_spec(written(tmp_path, {longer: values}, people()[2]), "y")
    assert [feature.mutable for feature in parsed(draft).features] == ["none"]


def test_one_who_earns_nothing_does_not_double_what_others_are_told_to_earn(tmp_path):
    label = [i // 2 % 2 for i in range(101)]
    for nothing in ([0], [0] * 20, [-52]):
        income = [*nothing, *(10 + 7 * i % 91 for i in range(101 - len(nothing)))]
        file, opened = written(tmp_path, {"income": income}, label), decisions(income="up")
        [drafted] = features(draft_spec(file, "y", opened)).values()
        assert drafted.max_change == 20
    file, opened = written(tmp_path, {"incomes": [i % 3 for i in range(101)]}, label), decisions(incomes="up")
    [drafted] = features(draft_spec(file, "y", opened)).values()
    assert drafted.max_change == 1


def test_what_lasts_grows_only_by_waiting_and_counts_of_failures_are_past(tmp_path):
    waiting, past, personal = (
        "it only grows by waiting: up, if that is advice",
        "nobody can change that",
        "personal data",
    )
    reasons = {
        "employment_duration": waiting,
        "employment_months": waiting,
        "months_employed": waiting,
        "job_duration": waiting,
        "time_at_job": waiting,
        "customer_since_months": waiting,
        "member_since": waiting,
        "account_age": waiting,
        "residence_years": waiting,
        "person_emp_length": waiting,
        "account_holder_age": personal,
        "customer_age": personal,
        "previous_employment_months": past,
        "TotalOverdueCounts": past,
        "TotalMonthsOverdue": past,
        "default_count": past,
        "NumberOfTimes90DaysLate": past,
    }
    undecided = ("duration", "loan_term", "part_time_job", "account_balance_months", "overdue_amount_3_months")
    generator, quality, label = people()
    columns = {name: [generator.randint(0, 9) for _ in quality] for name in (*reasons, *undecided)}
    draft = draft_spec(written(tmp_path, columns, label), "y")
    said = comments(draft)
    assert {name: said[name] for name in reasons} == {name: f"guess: {reason}" for name, reason in reasons.items()}
    assert {feature.mutable for feature in features(draft).values()} == {"none"}
    assert draft.undecided == undecided
    assert [name for name, feature in features(draft).items() if feature.pii] == ["account_holder_age", "customer_age"]


def test_where_everything_seems_fixed_the_draft_ends_with_what_to_do_and_is_refused(tmp_path):
    generator, quality, label = people()
    columns = {name: [generator.randint(0, 3) for _ in quality] for name in ("age", "priors")}
    draft = draft_spec(written(tmp_path, columns, label), "y", decisions())
    assert draft.to_decide[0].startswith("nothing may change as drafted")
    assert draft.text.splitlines()[-1].startswith(
        "# Nothing may change as drafted, so nobody would get an option: write"
    )
    assert {problem.message for problem in parse_spec(draft.text.encode())} == NOTHING_TO_CHANGE
    opened = draft.text.replace("mutable: none}  # guess: nobody", "mutable: down}  # nobody")
    assert isinstance(parse_spec(opened.encode()), ProgramSpec)


def test_a_name_that_the_data_contradict_opens_nothing_and_integers_of_few_values_may_be_codes(tmp_path):
    """The counts are those of german.csv."""
    plans = [3] * 590 + [1] * 82 + [2] * 28 + [3] * 224 + [1] * 57 + [2] * 19
    file = written(tmp_path, {"other_installment_plans": plans}, [1] * 700 + [0] * 300)
    [line] = [line for line in draft_spec(file, "y").text.splitlines() if "other_installment_plans" in line]
    assert ", mutable: none}" in line
    assert line.endswith("values from 1 to 3, median 3; type categorical if these are codes, which are texts then")


@pytest.mark.parametrize(
    ("values", "bounds"),
    [
        (range(812, 9432, 13), (500, 9500)),
        (range(10), (0, 9)),
        (range(1, 6), (1, 5)),
        ([0, 1], (0, 1)),
        (range(18, 73), (15, 75)),
        (range(-35, 72), (-40, 80)),
        ([i / 100 for i in range(7, 94)], (0.05, 0.95)),
        ([0.1, 0.2, 0.3], (0.1, 0.3)),
        ([2**53 - 7, 2**53], (2**53 - 7, 2**53)),
    ],
)
def test_bounds_are_rounded_outwards(tmp_path, values, bounds):
    file = written(tmp_path, {"x": [*values, *values]}, [*([0] * len(values)), *([1] * len(values))])
    [feature] = features(draft_spec(file, "y")).values()
    assert feature.bounds == bounds


@given(st.floats(-1e15, 1e15), st.floats(-1e15, 1e15), st.booleans())
def test_bounds_are_never_inside_the_values_and_hardly_beyond(one, other, is_whole):
    low, high = sorted(map(round, (one, other)) if is_whole else (one, other))
    below, above = outward(low, high, is_whole=is_whole)
    assert below <= low
    assert high <= above
    assert above - below <= max(1.2001 * (high - low), 2.0 * is_whole * (high > low))


def related(rows=ROWS):
    """Bills of which the last is at most the largest, and times billed: none exactly where no month is."""
    generator = random.Random(2)
    largest = [generator.randint(0, 5000) for _ in range(rows)]
    times = [max(0, generator.randint(-3, 3)) for _ in range(rows)]
    return {
        "largest_bill": largest,
        "yearly_bill": [bill + generator.randint(0, 3000) for bill in largest],
        "last_bill": [generator.randint(0, bill) for bill in largest],
        "times_billed": times,
        "months_billed": [generator.randint(n, 9 * n) for n in times],
        "shops": [generator.randint(0, 9000) for _ in largest],
        "hours": [generator.randint(1, 9) for _ in largest],
        "millions": [generator.randint(0, 10**6) + 5000 for _ in largest],
        "age": [generator.randint(18, 70) for _ in largest],
    }


def test_pairs_that_hold_in_every_row_become_constraints(tmp_path):
    columns = related()
    columns["schooling_years"] = [age - random.Random(age).randint(0, 15) for age in columns["age"]]
    columns["sex"] = [i % 2 for i in range(ROWS)]
    draft = draft_spec(written(tmp_path, columns, people()[2]), "y")
    constraints = parsed(draft).constraints
    assert constraints.le == (
        ("largest_bill", "yearly_bill"),
        ("last_bill", "largest_bill"),
        ("times_billed", "months_billed"),
    )
    [rule] = constraints.rules
    assert (rule.if_.feature, rule.then.feature) == ("times_billed", "months_billed")
    assert "  le:  # found in all 240 rows: the first is at most the second" in draft.text


def test_a_pair_is_no_constraint_after_one_row_breaks_it_or_where_there_are_few_rows(tmp_path):
    columns, label = related(), people()[2]
    for name, other in (("largest_bill", "yearly_bill"), ("last_bill", "largest_bill"), ("times_billed", "shops")):
        columns[name][7] = columns[other][7] + 1
    columns["months_billed"][7] = 0
    assert parsed(draft_spec(written(tmp_path, columns, label), "y")).constraints == Constraints()
    few = {name: values[:60] for name, values in related().items()}
    assert parsed(draft_spec(written(tmp_path, few, label[:60]), "y")).constraints == Constraints()


def computed(draft):
    """The computed features of a draft, which nobody changes themselves, and of which none is left out."""
    spec = parsed(draft)
    assert {feature.mutable for feature in spec.features if feature.name in spec.computed} <= {"none"}
    assert not draft.left_out
    assert not set(spec.computed) & set(draft.undecided)
    return spec.computed


def test_a_column_that_follows_from_another_is_computed(tmp_path):
    generator, quality, label = people()
    months = [generator.randint(1, 90) for _ in quality]
    columns = {
        "term": months,
        "term_days": [30 * n for n in months],
        "seniority": [n / 12 + 1 for n in months],
        "hours": [generator.choice([10**9, *range(90)]) for _ in quality],
        "rare": [int(i == 77) for i in range(ROWS)],
        "not_rare": [int(i != 77) for i in range(ROWS)],
    }
    columns["days"] = [n if n == 10**9 else generator.randrange(90) for n in columns["hours"]]
    draft = draft_spec(written(tmp_path, columns, label), "y")
    assert computed(draft) == {
        "term": "seniority * 12 - 12",
        "term_days": "seniority * 360 - 360",
        "not_rare": "rare * -1 + 1",
    }
    assert re.search(r"name: term, .*mutable: none}  # guess: it is 12 times 'seniority' - 12 in every row", draft.text)


def test_a_personal_column_that_follows_from_another_is_left_out_with_what_follows_from_it(tmp_path):
    generator, quality, label = people()
    columns = {
        "born_before": [generator.randint(1, 90) for _ in quality],
        "spare": [generator.randint(1, 90) for _ in quality],
    }
    columns["age"] = [2 * n for n in columns["born_before"]]
    columns["portion"] = [a + b for a, b in zip(columns["age"], columns["spare"], strict=True)]
    draft = draft_spec(written(tmp_path, columns, label), "y", decisions(spare="up"))
    assert not set(draft.left_out) & set(parsed(draft).computed)
    for formula in parsed(draft).computed.values():
        assert not set(draft.left_out) & set(expression(formula).names)


def test_no_answer_opens_a_computed_feature(tmp_path):
    columns = {name: derived()[name] for name in ("asked", "gross", "portion")}
    said = decisions(portion="up", asked="up")
    draft = draft_spec(written(tmp_path, columns, people()[2]), "y", said)
    assert computed(draft) == {"portion": "asked / gross"}
    [line] = said.unused()
    assert line.startswith("mutable.portion: not taken: it is 'asked' / 'gross' in every row")


def test_the_total_is_computed_whatever_is_known_of_its_parts(tmp_path):
    generator, quality, label = people()
    columns = {name: [generator.randint(0, 900) for _ in quality] for name in ("loans", "cards")}
    columns["debt_total"] = [one + other for one, other in zip(*columns.values(), strict=True)]
    said = decisions(loans="down", debt_total="down")
    assert computed(draft_spec(written(tmp_path, columns, label), "y", said)) == {"debt_total": "cards + loans"}


def derived(rows=ROWS):
    """Amounts, and what follows from them: two ratios, one of them rounded, a product, a sum, a difference, flags."""
    generator = random.Random(3)
    columns = {name: [generator.randint(1, 90) for _ in range(rows)] for name in ("asked", "gross", "items", "rooms")}
    asked, gross, items, rooms = columns.values()
    columns["portion"] = [one / other for one, other in zip(asked, gross, strict=True)]
    columns["crowding"] = [round(one / other, 2) for one, other in zip(items, rooms, strict=True)]
    columns["cost"] = [one * other for one, other in zip(gross, items, strict=True)]
    columns["spent"] = [one + other for one, other in zip(asked, rooms, strict=True)]
    columns["spare"] = [one - other for one, other in zip(rooms, items, strict=True)]
    columns["is_large"] = [int(value >= 30) for value in asked]
    columns["is_small"] = [int(value < 50) for value in rooms]
    return columns


DERIVED = {
    "portion": "asked / gross",
    "crowding": "items / rooms",
    "cost": "gross * items",
    "spent": "asked + rooms",
    "spare": "rooms - items",
    "is_large": "asked >= 30",
    "is_small": "rooms < 50",
}


def times(of, factor):
    """What is ``of`` times a constant, rounded to so many places or not."""
    return lambda one, other, places: rounded(of(one, other) * factor, places)


def rounded(value, places):
    return value if places is None else round(value, places)


@pytest.mark.parametrize("places", [0, 1, None])
@pytest.mark.parametrize(
    ("made", "formula"),
    [
        (times(lambda one, other: one / other, 100), "debts / income * 100"),
        (times(lambda one, other: one / other, 1200), "debts / income * 1200"),
        (times(lambda one, other: one * other, 0.01), "debts * income * 0.01"),
        (times(lambda one, other: -one * other, 12), "debts * income * -12"),
    ],
)
def test_a_ratio_or_product_times_a_constant_is_computed(tmp_path, made, formula, places):
    generator, quality, label = people()
    columns = {"debts": [generator.randint(0, 900) for _ in quality]}
    columns["income"] = [generator.randint(100, 900) for _ in quality]
    columns["known"] = [made(one, other, places) for one, other in zip(*columns.values(), strict=True)]
    assert computed(draft_spec(written(tmp_path, columns, label), "y")) == {"known": formula}
    columns["known"][7] += 10**6
    assert not computed(draft_spec(written(tmp_path, columns, label), "y"))


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.integers(0, 2**32), st.sampled_from([0, 1, 3]))
def test_numbers_that_have_nothing_to_do_with_each_other_make_none(tmp_path, seed, places):
    generator, _, label = people(seed)
    kinds = (generator.randint, lambda low, high: round(generator.lognormvariate(3, high / low), places))
    columns = {f"c{n}": [kinds[n % 2](10, 12 + 4 * n) for _ in label] for n in range(12)}
    assert not parsed(draft_spec(written(tmp_path, columns, label), "y")).computed


@pytest.mark.parametrize("reverse", [False, True])
def test_a_column_that_two_others_make_or_a_number_flags_is_computed_whatever_the_order(tmp_path, reverse):
    columns = dict(sorted(derived().items(), reverse=reverse))
    assert computed(draft_spec(written(tmp_path, columns, people()[2]), "y")) == DERIVED


def test_columns_derived_from_one_another_are_not_all_computed(tmp_path):
    columns = derived()
    columns = {name: columns[name] for name in ("asked", "gross", "portion")}
    columns["gross"] = [float(value) + 0.5 for value in columns["gross"]]
    columns["asked"] = [a * b for a, b in zip(columns["gross"], columns["portion"], strict=True)]
    for names in (["asked", "gross", "portion"], ["portion", "gross", "asked"]):
        draft = draft_spec(written(tmp_path, {name: columns[name] for name in names}, people()[2]), "y")
        assert computed(draft) == {"portion": "asked / gross"}


def test_what_follows_from_a_derived_column_is_computed_too(tmp_path):
    columns = {name: derived()[name] for name in ("asked", "gross")}
    columns["total"] = [one + other for one, other in zip(*columns.values(), strict=True)]
    columns["share"] = [one / total for one, total in zip(columns["asked"], columns["total"], strict=True)]
    draft = draft_spec(written(tmp_path, columns, people()[2]), "y")
    assert computed(draft) == {"total": "asked + gross", "share": "asked / total"}


def test_a_column_is_no_derived_one_after_one_row_breaks_it_or_where_there_are_few_rows(tmp_path):
    columns, label = derived(), people()[2]
    for name in ("portion", "crowding", "cost", "spent", "spare"):
        columns[name][7] += 1000
    for name in ("is_large", "is_small"):
        columns[name] = [1 - value if i == 7 else value for i, value in enumerate(columns[name])]
    assert not computed(draft_spec(written(tmp_path, columns, label), "y"))
    few = {name: values[:60] for name, values in derived().items()}
    assert not computed(draft_spec(written(tmp_path, few, label[:60]), "y"))


def test_what_rarely_counts_makes_no_derived_column(tmp_path):
    generator, quality, label = people()
    bills = [generator.randint(0, 900) for _ in quality]
    rare = [3 if i == 50 else 4 if i == 150 else 0 for i in range(ROWS)]
    columns = {
        "bills": bills,
        "rare": rare,
        "both": [a + b for a, b in zip(bills, rare, strict=True)],
        "seldom": [int(value >= 890) for value in bills],
    }
    assert not computed(draft_spec(written(tmp_path, columns, label), "y"))


UNWANTED_NAMES = (
    *("deny", "denial", "reject", "declined", "refused", "charged_off", "failed", "dropout", "late", "arrears"),
    *("credit_risk", "default_next_month", "bad", "delinquent", "isFraud", "churn", "late_payment"),
)
WANTED_NAMES = ("repaid", "approved", "loan_accepted", "hired", "admitted")
UNKNOWN_NAMES = ("y", "outcome", "loan_status", "SeriousDlqin2yrs", "not_denied", "paid_late", "default2", "ausfall")
WAYS = (("0", "1"), ("no", "yes"), ("N", "Y"), ("False", "True"))


def labelled(folder, name, values, order, column="income"):
    """Rows of which the better ones have the second value where ``order`` is 1, the first where -1, any where 0."""
    generator, quality, label = people()
    numbers = [round(1000 + 100 * value) for value in quality]
    if order == 0:
        generator.shuffle(numbers)
    label = [1 - one for one in label] if order < 0 else label
    file = written(folder, {column: numbers}, [values[one] for one in label])
    file.write_text(file.read_text().replace(",y\n", f",{name}\n", 1).replace(",y\r\n", f",{name}\r\n", 1))
    return file


@pytest.mark.parametrize(
    ("name", "values"),
    [
        *((name, WAYS[0]) for name in (*UNWANTED_NAMES, *WANTED_NAMES, *UNKNOWN_NAMES)),
        *product(("deny", "approved", "y"), WAYS[1:]),
    ],
)
def test_a_label_is_taken_only_where_name_and_data_agree(tmp_path, name, values):
    sign = -1 if name in UNWANTED_NAMES else 1 if name in WANTED_NAMES else 0
    for order in (1, 0, -1):
        draft = draft_spec(labelled(tmp_path, name, values, order), name)
        written_value = values[order > 0]
        agreed = int(written_value) if written_value.isdigit() else written_value
        expected = agreed if order and order == sign else UNDECIDED
        assert parsed(draft).label.desired == expected
        assert (not draft.to_decide) == (expected != UNDECIDED)


@pytest.mark.parametrize(
    ("values", "order", "desired"),
    [
        (("rejected", "approved"), 1, "approved"),
        (("rejected", "approved"), -1, UNDECIDED),
        (("rejected", "approved"), 0, UNDECIDED),
        (("Charged Off", "Fully Paid"), 1, "Fully Paid"),
        (("not approved", "approved"), 1, UNDECIDED),
        (("nein", "ja"), 1, UNDECIDED),
        (("1", "2"), 1, UNDECIDED),
        (("approved", "decided"), 1, UNDECIDED),
    ],
)
def test_the_words_of_its_values_say_what_a_label_means_where_the_data_agree(tmp_path, values, order, desired):
    draft = draft_spec(labelled(tmp_path, "outcome", values, order), "outcome")
    assert parsed(draft).label.desired == desired


def test_one_column_that_speaks_against_a_label_leaves_it_undecided(tmp_path):
    _, quality, label = people()
    better = [round(1000 + 100 * value) for value in quality]
    columns = {"income": better, "debts": better}
    draft = draft_spec(written(tmp_path, columns, ["approved" if one else "denied" for one in label]), "y")
    assert parsed(draft).label.desired == UNDECIDED
    [line] = draft.to_decide
    assert line == "'y': write the desired value, approved or denied: by its name 'approved', but not by debts"


def test_what_the_data_say_of_a_label_is_told_with_what_to_write(tmp_path):
    draft = draft_spec(labelled(tmp_path, "y", ("a", "b"), 1, "net_savings"), "y")
    told = "write the desired value, a or b: its name does not say it; 'b' goes with higher net_savings"
    assert draft.to_decide[0] == f"'y': {told}"
    assert f'label: {{name: "y", desired: undecided}}  # {told}\n' in draft.text


def test_a_label_by_its_name_alone_says_that_no_column_confirms_it(tmp_path):
    generator, quality, label = people()
    columns = {"wage_wanted": [round(500 - 90 * value + generator.gauss(0, 20)) for value in quality], "hired": label}
    [line, *_] = draft_spec(written(tmp_path, columns, quality), "hired").to_decide
    assert line.endswith(
        "by its name 1; no column of known direction clearly confirms it; 0 goes with higher wage_wanted"
    )


def test_letters_of_any_language_stand_as_they_are_and_what_cannot_be_printed_is_escaped(tmp_path):
    generator, _, label = people()
    columns = {
        "Größe": [generator.choice(["süß", "groß"]) for _ in label],
        "naïf": [5] * ROWS,
        "a\u202eb": [generator.randint(0, 99) for _ in label],
    }
    file = written(tmp_path, columns, ["zurückgezahlt" if one else "säumig" for one in label])
    draft = draft_spec(file, "y")
    assert "'süß'" in draft.text
    assert "# not used, 'naïf': it has one value only" in draft.text
    assert "# not used, 'a\\u202eb': " in draft.text
    assert "\u202e" not in draft.text
    assert "\\x" not in draft.text + "".join(draft.to_decide)


def test_a_label_of_the_value_undecided_can_have_another_desired_one_only(tmp_path):
    file = labelled(tmp_path, "approved", ("undecided", "yes"), 1)
    draft = draft_spec(file, "approved", DraftDecisions(DraftAnswers({"approved": UNDECIDED})))
    assert "'undecided' cannot be the desired one: call it otherwise in the data" in draft.to_decide[0]
    assert (
        parsed(draft_spec(file, "approved", DraftDecisions(DraftAnswers({"approved": "yes"})))).label.desired == "yes"
    )


def with_codes(folder, codes, values=("0", "1"), name="repaid"):
    """Rows of a label of two values, of which every ninth has one of the codes in its place."""
    generator, quality, label = people()
    written_label = [values[one] if i % 9 else generator.choice(codes) for i, one in enumerate(label)]
    file = written(folder, {"income": [round(1000 + 100 * value) for value in quality]}, written_label)
    file.write_text(file.read_text().replace(",y\n", f",{name}\n", 1).replace(",y\r\n", f",{name}\r\n", 1))
    return file, sum(i % 9 == 0 for i in range(ROWS))


LABELS_WITH_CODES = [
    (("-9",), ("0", "1")),
    (("-1",), ("0", "1")),
    (("-9", "-8"), ("0", "1")),
    (("9",), ("0", "1")),
    (("98", "99"), ("1", "2")),
    (("-9.0",), ("0.0", "1.0")),
    (("pending",), ("0", "1")),
    (("-9",), ("no", "yes")),
]


@pytest.mark.parametrize(("codes", "values"), LABELS_WITH_CODES)
def test_a_code_of_a_label_is_no_outcome_and_the_label_undecided_until_somebody_answers(tmp_path, codes, values):
    file, count = with_codes(tmp_path, codes, values)
    draft, expected = draft_spec(file, "repaid"), [label_value(code) for code in codes]
    spec = parsed(draft)
    assert spec.label.desired == UNDECIDED
    assert sorted(spec.label.not_given) == sorted(expected)
    assert draft.unlabelled == count
    assert "and take from `not_given` what is an outcome: " in draft.to_decide[0]
    desired = label_value(values[1])
    table = read_table(file, msgspec.structs.replace(spec, label=Label("repaid", desired, spec.label.not_given)))
    assert (len(table.rows), table.without_label) == (ROWS - count, Unlabelled(count))
    early = DraftDecisions(DraftAnswers({"repaid": desired}))
    assert parsed(draft_spec(file, "repaid", early)).label.desired == UNDECIDED
    assert "label.repaid: not taken: " in early.unused()[0]


@pytest.mark.parametrize(("codes", "values"), LABELS_WITH_CODES)
def test_somebody_says_whether_a_code_of_a_label_is_an_outcome(tmp_path, codes, values):
    file, count = with_codes(tmp_path, codes, values)
    given = [label_value(code) for code in codes]
    left_out = draft_spec(file, "repaid", DraftDecisions(DraftAnswers(not_given={"repaid": given})))
    assert parsed(left_out).label.not_given == tuple(given)
    assert parsed(left_out).label.desired == (UNDECIDED if values == ("1", "2") else label_value(values[1]))
    assert left_out.unlabelled == count
    kept = draft_spec(file, "repaid", DraftDecisions(DraftAnswers({"repaid": given[0]}, amounts={"repaid": given})))
    assert (parsed(kept).label, kept.unlabelled) == (Label("repaid", given[0]), 0)


@pytest.mark.parametrize(
    "values", [("paid", "late", "default"), ("0", "1", "2"), ("1", "2", "3"), ("-1", "1"), ("-2", "-1", "0", "1", "2")]
)
def test_outcomes_of_a_label_are_no_codes(tmp_path, values):
    _, quality, _ = people()
    rows = [values[i % len(values)] for i in range(ROWS)]
    draft = draft_spec(written(tmp_path, {"income": [round(1000 + 100 * value) for value in quality]}, rows), "y")
    assert parsed(draft).label == Label("y", UNDECIDED)
    assert draft.unlabelled == 0


@pytest.mark.parametrize(
    ("values", "step"),
    [
        ([i / 10 for i in range(0, 5000, 7)], 5),
        ([i / 4 for i in range(9)], 0.25),
        ([0.1, 0.4, 1.0], 0.3),
        ([*(i / 100 for i in range(300)), 1e6], 0.02),
        ([800 + 10 * i for i in range(1100)], 100),
        ([*range(40)] * 2, None),
        ([0, 500, 9000], 500),
        ([0.5, 1e-13], 0.005),
    ],
)
def test_a_step_is_round_about_a_hundredth_of_the_range_and_no_finer_than_the_data(tmp_path, values, step):
    shuffled = random.Random(1).sample(list(values), len(values))
    file = written(tmp_path, {"x": shuffled}, [i % 2 for i in range(len(values))])
    assert parsed(draft_spec(file, "y")).features[0].step == step


def test_the_policy_searches_for_the_person_and_gives_ninety_days_to_act_and_longer_to_help(tmp_path):
    policy = parsed(draft_spec(written(tmp_path, {"x": [1, 2]}, [0, 1]), "y")).policy
    assert policy.generator == "search"
    window = policy.window
    assert (window.acted, window.outcome, window.acting) == (timedelta(days=90), timedelta(days=400), None)
    assert policy.choice == "stages"


@pytest.mark.skipif(not DATA.is_dir(), reason="needs the shared data")
@pytest.mark.parametrize("name", ["diabetes", "compas"])
def test_a_draft_from_a_data_set_encodes_it_like_its_spec(name):
    spec = load_spec(ROOT / "environments" / "specs" / f"{name}.yaml").spec
    file, label = DATA / f"{name}.csv", spec.label
    draft = draft_spec(file, label.name, DraftDecisions(DraftAnswers({label.name: label.desired})))
    drafted = parsed(draft)
    assert read_table(file, drafted).rows == read_table(file, spec).rows
    assert drafted.label == label


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        (
            "id,gaps,y\n1,,0\n1,2,1\n",
            [
                ": no column can be a feature",
                ":1: 'id': not used: it has one value only",
                ":1: 'gaps': not used: 1 of 2 cells have no value",
            ],
        ),
        ("a,y\n1,\n2,NA\n", [": y: no row has a label"]),
        (
            "a,y\n" + "".join(f"{number},{number}\n" for number in range(60)),
            [": y: has 60 values: a label says what came of the applications, in at most 50 values"],
        ),
        ("a,y\n1,0\n2,0\n", [": y: 2 rows with the value 0 and 0 without: too few to split 2:1:1"]),
        ("a,yy\n1,0\n2,1\n", [":1: y: no such column (did you mean yy?)"]),
    ],
)
def test_a_file_without_usable_columns_is_refused_with_the_reasons(tmp_path, text, lines):
    file = tmp_path / "data.csv"
    file.write_text(text)
    with pytest.raises(TableError) as caught:
        draft_spec(file, "y")
    assert str(caught.value).splitlines() == [f"{file}{line}" for line in lines]


NOTHING_TO_CHANGE = {"no feature is mutable: delete `mutable: none` where a person could change something"}
CELLS = st.sampled_from(
    [
        *("0", "1", "-3", "2.5", "1e308", "-1e308", "inf", "nan", "", "a", "é", "yes", "1_0", "😀", ": #"),
        *("1e-9", "1e-999999999999999999999", "9" * 400, "2025-01-01", "12 %", "high", "low", "medium", "NA"),
    ]
)
NAMES = st.text(max_size=4) | st.sampled_from(["age", "income", "debts", "status", "region:a", "region:b", "year"])


@settings(deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.tuples(CELLS, CELLS, CELLS), min_size=1, max_size=6), st.tuples(NAMES, NAMES))
def test_a_draft_is_a_spec_that_reads_its_file(tmp_path, rows, names):
    file = tmp_path / "any.csv"
    with file.open("w", encoding="utf-8", newline="") as stream:
        csv.writer(stream).writerows([(*names, "y"), *rows])
    first = DraftDecisions(
        ask=lambda question: question.choices[0] if question.kind == "label" else question.name == "y" or None
    )
    try:
        spec = parsed(draft_spec(file, "y", first))
    except TableError:
        return
    left = [label for *_, label in rows if not is_not_given(label) and label_value(label) not in spec.label.not_given]
    assert len(read_table(file, spec).rows) == len(left)


def test_more_features_than_a_spec_may_have_are_refused(tmp_path):
    columns = {f"x{number}": ["a", "b", "b", "a"] for number in range(2001)}
    with pytest.raises(
        TableError, match="2,001 features are more than the 2,000 of a spec: keep the columns that matter"
    ):
        draft_spec(written(tmp_path, columns, [0, 0, 1, 1]), "y")
    wide = {f"x{number}": [*(f"{letter}{'-' * 90}" for letter in "abcdefgh")] for number in range(400)}
    with pytest.raises(TableError, match=r"400 features are more than a spec may have \(\d+ bytes; .*keep the columns"):
        draft_spec(written(tmp_path, wide, [0, 1] * 4), "y")


def test_a_draft_that_would_be_too_large_says_less_of_each_feature(tmp_path, monkeypatch):
    columns = {f"x{number}": ["a", "b", "b", "a"] for number in range(20)}
    file = written(tmp_path, columns, [0, 0, 1, 1])
    whole = draft_spec(file, "y")
    monkeypatch.setattr("onward.schemas.draft.draft.MAX_BYTES", len(whole.text.encode()) - 1)
    draft = draft_spec(file, "y")
    assert "There are too many features to say what each holds" in draft.text
    assert "# undecided: 2 values" not in draft.text
    assert parsed(draft) == parsed(whole)
    assert draft.undecided == whole.undecided

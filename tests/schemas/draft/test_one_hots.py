import random
from pathlib import Path

import pytest

from onward.schemas.draft import draft_spec
from onward.schemas.draft.one_hots import dropped_groups, one_hot_groups
from onward.schemas.draft.questions import DraftDecisions
from onward.schemas.raw_table import RawTable
from onward.schemas.spec import ProgramSpec
from onward.schemas.specfile import parse_spec
from onward.schemas.table import read_table

RANDOM = random.Random(3)
JOBS = ("none", "clerk", "self employed")
PEOPLE = [RANDOM.choice(JOBS) for _ in range(300)]
INCOMES = [str(RANDOM.randrange(500, 6000)) for _ in PEOPLE]


def raw(columns: dict[str, list[str]]) -> RawTable:
    return RawTable(__file__, {"income": INCOMES, **columns}, range(len(PEOPLE)))


def flags(names: dict[str, str], yes: str = "1", no: str = "0") -> dict[str, list[str]]:
    return {name: [yes if person == job else no for person in PEOPLE] for name, job in names.items()}


LABELS = [str(int(int(income) > 3000 and place % 7 > 0)) for place, income in enumerate(INCOMES)]


def parsed(file: Path, decisions: DraftDecisions | None = None) -> ProgramSpec:
    text = draft_spec(file, "y", decisions).text
    spec = parse_spec(text.replace("desired: undecided", "desired: 1").encode())
    assert isinstance(spec, ProgramSpec), spec
    return spec


def written(folder: Path, columns: dict[str, list[str]]) -> Path:
    file, table = folder / "data.csv", {"income": INCOMES, **columns, "y": LABELS}
    file.write_text("\n".join(map(",".join, [list(table), *zip(*table.values(), strict=True)])))
    return file


@pytest.mark.parametrize("between", [":", "_", "=", ".", " ", " = ", "__", "-", ""])
@pytest.mark.parametrize(("yes", "no"), [("1", "0"), ("True", "False"), ("1.0", "0.0"), ("true", "false")])
def test_columns_of_which_one_is_1_are_one_category_whatever_stands_between(between, yes, no):
    jobs = {job: job if between else job.capitalize() for job in JOBS}
    names = {f"job{between}{category}": job for job, category in jobs.items()}
    assert one_hot_groups(raw(flags(names, yes, no)), "y") == {
        "job": dict(zip(names, jobs.values(), strict=True)),
    }


def test_flags_beside_each_other_are_one_category_whatever_they_are_called():
    columns = flags({"idle": JOBS[0], "clerk": JOBS[1], "own firm": JOBS[2]})
    members = {name: name for name in columns}
    assert one_hot_groups(raw(columns), "y") == {"idle or clerk or other": members}
    assert one_hot_groups(raw({**columns, "own firm": ["0"] * len(PEOPLE)}), "y") == {}


def test_two_categories_with_one_beginning_are_two_and_other_flags_are_none():
    columns = flags({f"has_job_{job}": job for job in JOBS})
    car = [RANDOM.choice("01") for _ in PEOPLE]
    columns |= {"has_car_yes": car, "has_car_no": [str(1 - int(one)) for one in car], "has_phone": car[::-1]}
    groups = one_hot_groups(raw(columns), "y")
    assert {name: list(members.values()) for name, members in groups.items()} == {
        "has_job": list(JOBS),
        "has_car": ["yes", "no"],
    }
    assert dropped_groups(raw(columns), "y", one_hot_groups(raw(columns), "y")) == {}


def test_columns_of_which_at_most_one_is_1_may_be_a_category_with_one_left_out():
    columns = flags({f"job_{job}": job for job in JOBS[1:]})
    assert one_hot_groups(raw(columns), "y") == {}
    assert dropped_groups(raw(columns), "y", one_hot_groups(raw(columns), "y")) == {
        "job": {f"job_{job}": job for job in JOBS[1:]}
    }
    rare = {
        name: ["1" if place == index else "0" for index in range(len(PEOPLE))]
        for place, name in enumerate(("a_b", "a_c"))
    }
    assert dropped_groups(raw(rare), "y", {}) == {}


def test_a_draft_puts_nobody_into_two_of_them(tmp_path):
    file = written(tmp_path, flags({f"job_{job}": job for job in JOBS}, "True", "False"))
    assert [row["job"] for row in read_table(file, parsed(file)).rows] == PEOPLE


@pytest.mark.parametrize("answer", [True, False, None])
def test_a_person_says_whether_0_in_all_is_a_category(tmp_path, answer):
    columns = {f"job_{job}": job for job in JOBS[1:]}
    file = written(tmp_path, flags(columns))
    asked = []

    def ask(question):
        asked.append(question.kind)
        return answer if question.kind == "dropped" else None

    decisions = DraftDecisions(ask=ask)
    spec = parsed(file, decisions)
    if answer:
        assert [row["job"] for row in read_table(file, spec).rows] == [job.replace("none", "other") for job in PEOPLE]
    else:
        assert {
            feature.name: feature.mutable for feature in spec.features if feature.name != "income"
        } == dict.fromkeys(columns, "none")
    assert asked.count("dropped") == 1
    assert parsed(file, DraftDecisions(decisions.answers)) == spec

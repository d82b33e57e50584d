"""The interval of how probably an option helps: who is told one, what it holds, and what may be asked of its end."""

from __future__ import annotations

import hashlib
import shutil
from pathlib import Path

import msgspec
import numpy as np
import pytest
from msgspec import UNSET

from onward import load_program
from onward.agents.improvement.interval import interval_around
from onward.schemas.events import Option, Recourse
from onward.schemas.specfile import SpecError
from onward.schemas.table import read_table
from onward.streams.errors import UsageError
from onward.streams.programs.assembly import assemble
from onward.streams.programs.bundle.improvement import dump_improvement, load_improvement
from onward.streams.programs.bundle.manifest import MANIFEST
from onward.streams.programs.spec_check import load_program_spec
from onward.streams.programs.training.train import train
from onward.tests.support.loans import write_loans

SPEC = """\
program: loan
features:
  - {name: income, type: integer, bounds: [0, 200], max_change: 40, mutable: up}
  - {name: debts, type: integer, bounds: [0, 20], mutable: down}
  - {name: region, type: categorical, categories: [north, south], mutable: none}
label: {name: repaid, desired: 1}
model: {manifest: model/manifest.json}
policy: {window: {steps: 4}, %s}
"""
ASKED = "improvement_interval: 0.8"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("intervals")
    write_loans(made / "loans.csv")
    spec(made, ASKED)
    train(
        made / "loans.csv",
        load_program_spec(made / "loan.yaml"),
        made / "model",
        estimator="logistic_regression",
        seed=0,
    )
    return made


def spec(folder: Path, policy: str) -> Path:
    path = folder / "loan.yaml"
    path.write_text(SPEC % policy)
    return path


def told(folder: Path, policy: str) -> list[Option]:
    path = spec(folder, policy)
    rows = read_table(folder / "loans.csv", load_program_spec(path).spec).rows[:150]
    answers = load_program(path).suggest(rows)
    options = [option for answer in answers if isinstance(answer, Recourse) for option in answer.options]
    assert options
    return options


@pytest.mark.parametrize("choice", ["residual", "stages", "linucb", "protoar"])
def test_an_interval_holds_what_is_stated(folder: Path, choice: str) -> None:
    learns = choice in ("residual", "stages")
    for option in told(folder, f"{ASKED}, choice: {choice}"):
        assert option.improvement_interval is not UNSET
        low, high = option.improvement_interval
        stated = option.expected_help
        assert stated is not UNSET
        assert 0.0 < low < stated < high < 1.0
        assert (option.learned_improvement_probability is not UNSET) is learns
        assert f"{stated:.2f}, between {low:.2f} and {high:.2f}" in option.in_words()


def test_a_wider_level_is_a_wider_interval(folder: Path) -> None:
    by_level = [told(folder, f"improvement_interval: {level}") for level in (0.5, 0.9)]
    for narrow, wide in zip(*by_level, strict=True):
        assert narrow.changes == wide.changes
        assert narrow.improvement_interval is not UNSET
        assert wide.improvement_interval is not UNSET
        assert wide.improvement_interval[0] < narrow.improvement_interval[0]
        assert narrow.improvement_interval[1] < wide.improvement_interval[1]


def test_a_spec_that_asks_for_none_gets_none_and_the_same_options(folder: Path) -> None:
    without, asked = told(folder, "options: 3"), told(folder, ASKED)
    assert all(one.improvement_interval is UNSET and one.learned_improvement_probability is UNSET for one in without)
    bare = [
        msgspec.structs.replace(one, improvement_interval=UNSET, learned_improvement_probability=UNSET) for one in asked
    ]
    assert msgspec.json.encode(bare) == msgspec.json.encode(without)


def test_by_cost_alone_no_option_says_how_probably_it_helps_nor_between_what(folder: Path) -> None:
    assert all(one.improvement_interval is UNSET for one in told(folder, f"{ASKED}, objective: cost"))


def test_nobody_alone_is_told_another_interval_than_among_others(folder: Path) -> None:
    path = spec(folder, ASKED)
    rows = read_table(folder / "loans.csv", load_program_spec(path).spec).rows[:40]
    program = load_program(path)
    together = [answer.options for answer in program.suggest(rows) if isinstance(answer, Recourse)]
    alone = [answer.options for row in rows for answer in program.suggest([row]) if isinstance(answer, Recourse)]
    assert msgspec.json.encode(together) == msgspec.json.encode(alone)


def test_no_option_is_told_whose_lower_end_is_below_what_is_asked_of_it(folder: Path) -> None:
    floor = 0.6
    policy = f"{ASKED}, choice: protoar, least_help: {floor}, overshoot: limit"
    plain, strict = told(folder, policy), told(folder, f"{policy}, least_help_of: lower_end")
    lowest = [
        min(one.improvement_interval[0] for one in options if one.improvement_interval is not UNSET)
        for options in (plain, strict)
    ]
    assert lowest[0] < floor <= lowest[1]


def test_the_interval_is_that_of_the_prior_where_nobody_learns(folder: Path) -> None:
    path = spec(folder, f"{ASKED}, choice: protoar")
    program = assemble(load_program_spec(path))
    rows, prior, codec = (
        read_table(folder / "loans.csv", program.spec).rows[:30],
        program.bundle.improvement,
        program.codec,
    )
    assert prior is not None
    answer = next(one for one in load_program(path).suggest(rows) if isinstance(one, Recourse))
    row = rows[int(answer.application)]
    for option in answer.options:
        before = codec.encode_many([row])
        after = codec.encode_many([{**row, **option.after}])
        [deviation] = prior.deviation(after, before)
        assert option.improvement_interval == pytest.approx(
            interval_around(float(prior(after, before)[0]), float(deviation), 0.8), rel=1e-9
        )


def older(folder: Path, into: Path) -> None:
    """A bundle as older versions wrote it: without bags."""
    shutil.copytree(folder / "model", into / "model")
    shutil.copy(folder / "loans.csv", into)
    file, manifest = into / "model" / "improvement.npz", into / "model" / MANIFEST
    prior = load_improvement(file.read_bytes(), "label_prior", 4)
    arrays = {name: array for name, array in prior.arrays().items() if not name.startswith(("bag", "unseen"))}
    content = dump_improvement(type(prior).restore(arrays, 4))
    file.write_bytes(content)
    document = msgspec.json.decode(manifest.read_bytes())
    document["improvement"] |= {"size": len(content), "sha256": hashlib.sha256(content).hexdigest()}
    manifest.write_bytes(msgspec.json.encode(document))


def test_a_model_of_an_older_version_gives_options_without_an_interval(folder: Path, tmp_path: Path) -> None:
    older(folder, tmp_path)
    options = told(tmp_path, ASKED)
    assert all(option.improvement_interval is UNSET for option in options)
    assert all(option.improvement_probability is not UNSET for option in options)


def test_a_model_of_an_older_version_is_refused_where_a_lower_end_is_asked_for(folder: Path, tmp_path: Path) -> None:
    older(folder, tmp_path)
    path = spec(tmp_path, f"{ASKED}, least_help: 0.5, least_help_of: lower_end")
    with pytest.raises(
        UsageError, match=r"does not know how far .* may be off, which `least_help_of: lower_end` needs"
    ):
        load_program(path)


@pytest.mark.parametrize(
    ("policy", "message"),
    [
        ("improvement_interval: 1", "improvement_interval"),
        ("least_help: 0.5, least_help_of: lower_end", "`lower_end` needs `improvement_interval`"),
        ("improvement_interval: 0.8, least_help_of: lower_end", "`lower_end` needs `least_help`"),
        ("least_help_of: upper_end", "least_help_of"),
    ],
)
def test_an_interval_that_no_option_has_is_refused_at_its_line(tmp_path: Path, policy: str, message: str) -> None:
    with pytest.raises(SpecError, match=message):
        load_program_spec(spec(tmp_path, policy))


def test_the_same_people_are_told_the_same_and_no_interval_is_everything(folder: Path) -> None:
    once, again = told(folder, ASKED), told(folder, ASKED)
    assert msgspec.json.encode(once) == msgspec.json.encode(again)
    widths = np.array([np.ptp(one.improvement_interval) for one in once])
    assert widths.max() < 0.9

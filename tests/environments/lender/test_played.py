"""A lender over real sockets: the same people in a program that is told how things are, and in one that is not."""

from __future__ import annotations

import json
import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
from msgspec import Struct
from msgspec.structs import replace

from onward.environments.figures.recording import Recording
from onward.environments.lender import MEASURED, LenderSetting, programs, taken_of
from onward.environments.lender.played import LenderWorld
from onward.environments.lender.settings import SEEN
from onward.schemas.effects import effects_of
from onward.schemas.events import NoRecourse, Recourse, Reward
from onward.schemas.specfile import load_spec
from onward.streams.cli import main
from onward.streams.cli.demo import DemoSettings
from onward.streams.cli.flags.parsing import parse_settings
from onward.streams.errors import UsageError
from onward.tests.streams.cli.test_demo import KEYS
from onward.tests.support.installations import PATIENCE
from onward.tests.support.played_worlds import served, summary_of

SEED, PEOPLE = 5, 20
LENDER = ["--world", "lender", "--people", str(PEOPLE), "--seed", str(SEED)]
SETTING = LenderSetting(measures=2, cause=SEEN, approved_only=True, report_days=(330, 400), rows=600)
PARTITIONS = 4


class Played(NamedTuple):
    """A run of the demo: what it prints, the folder of its files, its world, and the events of the output topics."""

    summary: dict[str, Any]
    folder: Path
    world: LenderWorld
    events: list[Struct]

    @property
    def specs(self) -> dict[str, Path]:
        programs = self.folder / "kept" / "programs"
        return {name: programs / name / "spec.yaml" for name in ("lender-told", "lender-plain")}


@pytest.fixture(scope="module")
def played(tmp_path_factory: pytest.TempPathFactory) -> Played:
    folder, printed = tmp_path_factory.mktemp("lender"), list[str]()
    worlds, events, begin = list[LenderWorld](), list[Struct](), LenderWorld.play
    note = Recording.note

    def play(self, *args):
        worlds.append(self)
        return begin(self, *args)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(LenderWorld, "setting", SETTING)
        patch.setattr(LenderWorld, "play", play)
        patch.setattr(Recording, "note", lambda self, event, now_ms: (note(self, event, now_ms), events.append(event)))
        patch.setattr(programs, "ESTIMATOR", "logistic_regression")  # whose retrains take a fifth of the time
        patch.setattr("sys.stdout.write", printed.append)
        flags = ["--keep", str(folder / "kept"), "--report", str(folder / "page.html")]
        assert main(["demo", *LENDER, "--json", *flags]) == 0
    return Played(json.loads("".join(printed)), folder, worlds[0], events)


def play(specs: Mapping[str, Path], folder: Path) -> dict[str, Any]:
    """Play kept programs again, and return the summary."""
    world = LenderWorld(DemoSettings(world="lender", seed=SEED, people=PEOPLE), lambda _: None)
    return summary_of(world, specs, folder, PARTITIONS)


def test_the_demo_shows_what_was_believed_and_what_was_true(played):
    summary = played.summary
    assert list(summary) == [*KEYS, "lender", "days"]
    assert [summary[name] for name in ("lost", "duplicates", "conflicting_duplicates", "dead_letters")] == [0] * 4
    assert summary["recourse"] + summary["none"] == summary["rejected"] > PEOPLE
    assert list(summary["lender"]) == list(summary["policies"]) == ["told", "plain"]
    for name, own in summary["lender"].items():
        halves = own["first"], own["second"]
        people = sum(half["people"] for half in halves)
        assert people == summary["lender"]["told"]["first"]["people"] + summary["lender"]["told"]["second"]["people"]
        true = sum(half["people"] * half["better_off"]["true"] for half in halves)
        assert true / people == pytest.approx(summary["policies"][name]["mer"])
        assert own["rejected"] <= own["returned"] <= summary["applications"]
    page = (played.folder / "page.html").read_text(encoding="utf-8")
    assert "What was believed, and what was true" in page
    for half in ("first", "second"):
        assert f"{summary['lender']['told'][half]['helped']['believed']:.1%}" in page


def test_the_programs_are_drafted_and_differ_in_what_is_told(played):
    told, plain = (load_spec(path).spec for path in played.specs.values())
    assert (told.label.missing, plain.label.missing) == ("unlabelled", None)
    assert [tuple(effect) for effect in told.effects] == [(f"{name}_3m", f"{name}_6m") for name in MEASURED]
    assert not plain.effects
    assert (told.policy.choice, plain.policy.choice) == ("stages", "residual")
    assert plain.policy.window.time == told.policy.window.outcome
    followers = {effect.to for effect in effects_of(told)}
    for own, other in zip(told.features, plain.features, strict=True):
        follows = own.name in followers
        assert (own.mutable == "follows") is follows
        assert replace(own, mutable=other.mutable, max_change=other.max_change) == other if follows else own == other
    files = [path.with_name(f"{name}.csv").read_text() for name, path in played.specs.items()]
    assert files[0] == files[1]
    assert files[0].count("\n") > SETTING.rows


@pytest.mark.slow
def test_the_same_seed_gives_the_same_figures(played, tmp_path, monkeypatch):
    monkeypatch.setattr(LenderWorld, "setting", SETTING)
    first, again = played.summary, play(played.specs, tmp_path / "state")
    names = ("applications", "fates", "open", "policies", "oracle_mer", "lender", "days")
    assert [first[name] for name in names] == [again[name] for name in names]


@pytest.mark.slow
def test_the_simulator_plays_programs_that_are_there(played, tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(LenderWorld, "setting", SETTING)
    flags = ["simulate", *LENDER, "--programs", str(played.folder / "kept" / "programs"), "--web-port", "0", *PATIENCE]
    with served(played.specs.values(), tmp_path / "state", PARTITIONS) as (broker, _):
        assert main([*flags, "--brokers", broker.bootstrap]) == 0, capsys.readouterr().err
    returned = played.summary["lender"]["plain"]["returned"]
    last = capsys.readouterr().out.splitlines()[-1]
    assert last.startswith(f"plain: of {returned} who came back with their option carried out, ")


def test_the_figures_are_those_of_the_answers_on_the_topics(played):
    summary, _, world, events = played
    people = world._newcomers
    for name, own in summary["lender"].items():
        program = f"lender-{name}"
        lender = world._lenders[program]
        answers = {
            event.application: event
            for event in events
            if isinstance(event, Recourse | NoRecourse) and event.program == program
        }
        for half, numbers in (("first", range(PEOPLE // 2)), ("second", range(PEOPLE // 2, PEOPLE))):
            rejected = [one for one in numbers if not lender.accepts(people.columns[[one]])[0]]
            told = [
                lender.stated_options(people.only(slice(one, one + 1)), getattr(answers[f"{one}-0"], "options", ()))
                for one in rejected
            ]
            taken = [option for option in map(taken_of, told) if option is not None]
            assert own[half]["people"] == len(rejected)
            assert own[half]["none"] == pytest.approx(1 - len(taken) / len(rejected))
            assert own[half]["helped"]["true"] == pytest.approx(np.mean([one.help for one in taken]))
            assert own[half]["carried_out"]["believed"] == pytest.approx(
                np.mean([one.stated_execution for one in taken])
            )


def test_everybody_who_comes_back_has_an_outcome_in_the_window(played):
    returned = sum(own["returned"] for own in played.summary["lender"].values())
    assert played.summary["fates"]["rewarded"] == returned > 0
    assert played.summary["fates"]["late"] == 0


def test_loans_of_the_file_are_nobodys_recourse_and_let_time_pass_in_the_first_year(played):
    dangling = [event for event in played.events if isinstance(event, Reward) and event.fate == "dangling"]
    assert len(dangling) == played.summary["fates"]["dangling"]
    weeks = [int(event.application.removeprefix("loan-")) // 8 for event in dangling]
    assert set(range(12)) <= set(weeks), "given up on when the watermark has passed them"


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        (["demo", "--world", "lender", "--data", "loans.csv"], "leave out --world lender"),
        (["demo", "--world", "lender", "--policies", "linucb"], "have choices of their own"),
        (["simulate", "--world", "lender", "--brokers", "localhost:1", "--people", "0"], "give a number of newcomers"),
    ],
)
def test_wrong_flags_are_explained_in_one_line(flags, message, capsys):
    assert main(flags) == UsageError.exit_code
    assert message in capsys.readouterr().err.splitlines()[-1]


PAGE = Path(__file__).parents[3] / "docs" / "demo.md"
SHOWN = [
    shlex.split(line, comments=True)
    for line in PAGE.read_text(encoding="utf-8").splitlines()
    if line.startswith("onward demo --world lender")
]


def test_the_commands_of_the_page_have_flags_that_are_there():
    assert ["onward", "demo", "--world", "lender"] in SHOWN
    for command in SHOWN:
        assert parse_settings(DemoSettings, "onward demo", "", command[2:]).world == "lender"

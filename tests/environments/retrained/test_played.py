"""Retrained models over real sockets: the same people in a program with a promise and in one without."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from onward.environments.retrained.played import RetrainedWorld
from onward.streams.cli import main
from onward.streams.cli.demo import DemoSettings
from onward.streams.cli.flags.parsing import parse_settings
from onward.streams.errors import UsageError
from onward.tests.streams.cli.test_demo import KEYS
from onward.tests.support.installations import PATIENCE
from onward.tests.support.played_worlds import served, summary_of

SEED, PEOPLE = 1, 30
RETRAINED = ["--world", "retrained", "--people", str(PEOPLE), "--seed", str(SEED)]
MEASURED = ("events_per_second", "latency_seconds", "examples")
"""What differs from run to run: speeds, and the dates in examples."""


def check(summary):
    """What holds for every run with this seed."""
    assert [summary[name] for name in ("lost", "duplicates", "conflicting_duplicates", "dead_letters")] == [0] * 4
    assert summary["recourse"] + summary["none"] == summary["rejected"] > 0
    assert list(summary["policies"]) == ["robust", "plain"]
    assert list(summary["promises"]) == ["open", "kept", "broken", "expired", "superseded"]
    assert summary["promises"]["kept"] > 0
    away = summary["turned_away"]
    assert list(away) == ["robust", "plain"]
    for name in away:
        own = [one for one in summary["returns"] if one["program"] == f"retrained-{name}"]
        assert [one["model"] for one in own] == [0, 1, 2]
        assert away[name] == sum(one["rejected"] for one in own) / sum(one["done"] for one in own)
    # Seed 1: models of other rows reject what is at the threshold of the first, and not what is promised.
    assert away["robust"] <= away["plain"]
    assert away["plain"] > 0.1
    assert summary["policies"]["robust"]["cost"] > summary["policies"]["plain"]["cost"]
    assert summary["days"] == 200


def test_the_demo_counts_promises_and_those_turned_away(tmp_path, capsys):
    page, picture = tmp_path / "page.html", tmp_path / "demo.svg"
    code = main(["demo", *RETRAINED, "--json", "--report", str(page), "--picture", str(picture)])
    printed = capsys.readouterr()
    assert code == 0, printed.err
    summary = json.loads(printed.out)
    assert list(summary) == [*KEYS, "promises", "turned_away", "returns", "days"]
    check(summary)
    share = f"{summary['turned_away']['plain']:.1%}"
    assert share in page.read_text(encoding="utf-8")
    assert share in picture.read_text(encoding="utf-8")


@pytest.mark.kafka
@pytest.mark.slow
def test_it_runs_on_a_kafka_that_is_there(cluster, capsys):
    code = main(["demo", *RETRAINED, "--json", "--brokers", cluster.bootstrap])
    printed = capsys.readouterr()
    assert code == 0, printed.err
    check(json.loads(printed.out))


def built() -> RetrainedWorld:
    return RetrainedWorld(DemoSettings(world="retrained", seed=SEED, people=PEOPLE), lambda _: None)


@pytest.fixture(scope="module")
def specs(tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, Path]:
    return built().write(tmp_path_factory.mktemp("programs"))


def play(specs: Mapping[str, Path], folder: Path) -> dict[str, Any]:
    """Play the world with a worker of its own; return the summary without speeds and dates."""
    printed = summary_of(built(), specs, folder, partitions=2)
    return {name: value for name, value in printed.items() if name not in MEASURED}


@pytest.mark.slow
def test_the_same_seed_gives_the_same_summary(specs, tmp_path):
    first, second = play(specs, tmp_path / "first"), play(specs, tmp_path / "second")
    check(first)
    assert first == second


@pytest.mark.slow
def test_the_simulator_plays_the_programs_that_it_has_written(tmp_path, capsys):
    flags = ["simulate", *RETRAINED, "--programs", str(tmp_path / "programs")]
    assert main(flags) == 0
    specs = capsys.readouterr().out.split()
    assert len(specs) == 2
    with served(map(Path, specs), tmp_path / "state", partitions=2) as (broker, _):
        assert main([*flags, "--web-port", "0", "--brokers", broker.bootstrap, *PATIENCE]) == 0, capsys.readouterr().err
    lines = capsys.readouterr().out.splitlines()
    assert re.match(r"retrained-robust: \d\d answers, mean expected reward 0\.", lines[0])
    assert re.match(r"retrained-plain: of \d\d who did what was asked, \d\d\.\d% were turned away", lines[3])


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        (["demo", "--world", "retrained", "--data", "loans.csv"], "leave out --world retrained"),
        (["demo", "--world", "retrained", "--policies", "linucb,protoar"], "name one choice"),
        (["simulate", "--world", "retrained", "--brokers", "localhost:1"], "give --programs DIR"),
    ],
)
def test_wrong_flags_are_explained_in_one_line(flags, message, capsys):
    assert main(flags) == UsageError.exit_code
    assert message in capsys.readouterr().err.splitlines()[-1]


PAGE = Path(__file__).parents[3] / "docs" / "demo.md"
SHOWN = [
    shlex.split(line, comments=True)
    for line in PAGE.read_text(encoding="utf-8").splitlines()
    if line.startswith("onward demo --world retrained")
]


@pytest.mark.parametrize("command", SHOWN, ids=" ".join)
def test_the_commands_of_the_page_have_flags_that_are_there(command):
    assert parse_settings(DemoSettings, "onward demo", "", command[2:]).world == "retrained"


def test_the_page_shows_the_world():
    assert ["onward", "demo", "--world", "retrained"] in SHOWN

"""A competition over real sockets: rounds are closed by a production worker, and the rejected act on their recourse."""

from __future__ import annotations

import json
import re
import shlex
import signal
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from msgspec import Struct
from msgspec.structs import replace

from onward.environments.competition.played import CompetitionWorld
from onward.environments.play.driver import connect, drive
from onward.schemas.events import ModelDecision, PromiseChange, Threshold
from onward.streams.cli import main
from onward.streams.cli.demo import DemoSettings
from onward.streams.cli.flags.parsing import parse_settings
from onward.streams.cli.process.worker_process import WorkerProcess
from onward.streams.errors import UsageError
from onward.streams.kafka.embedded import EmbeddedBroker
from onward.streams.outputs.decoder import DecodedEvent, EventDecoder
from onward.streams.settings import BrokerSettings
from onward.streams.topics import Topics
from onward.tests.support.forked_process import ForkedProcess
from onward.tests.support.installations import PATIENCE
from onward.tests.support.slow_rounds import main as slow_main

ROUNDS = 8
COMPETITION = ["demo", "--world", "competition", "--rounds", str(ROUNDS), "--seed", "1", "--json"]


def check(summary):
    """What holds for every run of the demo's competition."""
    assert [summary[name] for name in ("lost", "duplicates", "conflicting_duplicates", "dead_letters")] == [0] * 4
    assert summary["recourse"] + summary["none"] == summary["rejected"]
    assert summary["rejected"] == summary["applications"] - 9 * ROUNDS
    assert list(summary["coverage"]) == ["nominal", "achieved", "rounds"]
    assert (summary["coverage"]["nominal"], summary["coverage"]["rounds"]) == (0.95, ROUNDS)
    assert {"open", "kept", "broken", "expired"} <= set(summary["promises"])
    assert sum(summary["promises"].values()) == summary["rejected"]
    assert summary["promises"]["kept"] > 0
    last = summary["last_rounds"][-1]
    assert last["round"] == ROUNDS - 1
    # The worker counts for itself who reached their promised score.
    assert last["coverage"]["achieved"] == summary["coverage"]["achieved"]


def test_rounds_coverage_and_promises_are_counted_and_drawn(tmp_path, capsys):
    page, picture = tmp_path / "page.html", tmp_path / "demo.svg"
    code = main([*COMPETITION, "--report", str(page), "--picture", str(picture)])
    printed = capsys.readouterr()
    assert code == 0, printed.err
    summary = json.loads(printed.out)
    check(summary)
    assert list(summary["policies"]) == ["protoar"]
    assert 0 < summary["policies"]["protoar"]["mer"] < summary["oracle_mer"] < 1
    assert 0 < summary["feasibility"] < 1
    assert summary["fates"]["rewarded"] > 0
    html, svg = page.read_text(encoding="utf-8"), picture.read_text(encoding="utf-8")
    assert html.count("<svg") == 4
    threshold = summary["last_rounds"][-1]["threshold"]
    assert f"{threshold:.3f}" in svg


@pytest.mark.kafka
def test_a_competition_runs_on_a_kafka_that_is_there(cluster, capsys):
    code = main([*COMPETITION, "--brokers", cluster.bootstrap])
    printed = capsys.readouterr()
    assert code == 0, printed.err
    check(json.loads(printed.out))


def test_people_of_a_file_do_not_compete(capsys):
    assert main([*COMPETITION, "--data", "loans.csv"]) == UsageError.exit_code
    assert "leave out --world competition" in capsys.readouterr().err


@pytest.mark.slow
def test_the_simulator_plays_a_competition_for_a_worker_that_runs(tmp_path, capsys):
    flags = ["simulate", "--world", "competition", "--rounds", "3", "--seed", "1"]
    assert main([*flags, "--programs", str(tmp_path)]) == 0
    spec = Path(capsys.readouterr().out.strip())
    topics = Topics()
    names = (*topics.inputs, topics.journal, *topics.outputs)
    worker = ["--spec", str(spec), "--state-dir", str(tmp_path / "state"), "--no-web"]
    worker += ["--fetch-wait-seconds", "0.002", "--tick-seconds", "0.1"]
    with (
        EmbeddedBroker(dict.fromkeys(names, 2)) as broker,
        WorkerProcess(BrokerSettings(brokers=(broker.bootstrap,)), worker, tmp_path / "log"),
    ):
        for run_name in ("first", "second"):
            more = ["--run-name", run_name, "--web-port", "0", "--brokers", broker.bootstrap, *PATIENCE]
            assert main([*flags, *more]) == 0, capsys.readouterr().err
            assert re.match(r"competition-protoar: \d\d answers, mean expected reward 0\.", capsys.readouterr().out)


# --- a worker that is killed ------------------------------------------------------------------------------------------

SHORT = DemoSettings(world="competition", rounds=4, horizon=2, seed=1)
KILLS = [["answer_members", "1", "3"], ["success_at", "2", "3"]]
"""Workers that are killed with published and uncommitted pieces of rounds: of the answers of one, of the forecasts of
the next."""


class Installation:
    """A broker, and workers one after the other that serve the competition."""

    def __init__(self, folder: Path) -> None:
        self._folder, self._world = folder, CompetitionWorld(SHORT, lambda _: None)
        self._specs = self._world.write(folder / "programs")
        self._world.warm_up(self._specs)
        self._stack, self._starts = ExitStack(), 0
        self._plans: list[list[str]] = []
        self.read: dict[str, Struct] = {}
        """The events, by id."""

    def play(self, kills: Sequence[list[str]] = ()) -> None:
        """Play the whole world, with workers that are killed before the last one."""
        self._plans, topics = [*kills, []], Topics()
        names = (*topics.inputs, topics.journal, *topics.outputs)
        with EmbeddedBroker(dict.fromkeys(names, 2)) as self._broker, self._stack:
            self._process = self._start(self._plans.pop(0))
            simulation = self._world.play(self._specs, self._world.scoreboards(self._specs, every=10))
            with connect(self._broker.options(), topics, EventDecoder(topics).topics, "beginning") as client:
                drive(
                    simulation,
                    client,
                    on_event=lambda _, read, now_ms: self._count(read),
                    on_poll=self._replace_the_killed,
                    patience_seconds=3600,
                    advice=lambda: self._process.last_line(),
                )
        assert not self._plans, "a worker was not killed"

    def _count(self, read: DecodedEvent) -> None:
        known = self.read.setdefault(read.id, read.event)
        assert known == read.event, "a repeat differs"

    def _replace_the_killed(self) -> None:
        if self._process.exit_code is not None:
            assert self._process.exit_code == -signal.SIGKILL, self._process.last_line()
            self._process = self._start(self._plans.pop(0))

    def _start(self, flags: list[str]) -> ForkedProcess:
        self._starts += 1
        environment = {
            "ONWARD_BROKERS": self._broker.bootstrap,
            "ONWARD_SPEC": ",".join(map(str, self._specs.values())),
            "ONWARD_STATE_DIR": str(self._folder / "state"),
            # A group of its own for each worker: that of a killed member waits until its session ends.
            "ONWARD_GROUP": f"worker-{self._starts}",
            "ONWARD_FETCH_WAIT_SECONDS": "0.002",
            "ONWARD_TICK_SECONDS": "0.05",
            "ONWARD_WEB": "false",
        }
        return self._stack.enter_context(ForkedProcess(slow_main, flags, self._folder / "worker.log", environment))

    def told(self) -> dict[str, Any]:
        """Decisions, rounds and settled promises, without the event times and the model's file, which each run has for
        itself. Promises that expire with the last round come after its last answer, when nobody may read any more."""
        promises = {
            id: event
            for id, event in self.read.items()
            if isinstance(event, PromiseChange) and (event.settled_in, event.status) != (SHORT.rounds - 1, "expired")
        }
        decisions = {id: event for id, event in self.read.items() if isinstance(event, ModelDecision)}
        rounds = {id: event for id, event in self.read.items() if isinstance(event, Threshold)}
        ends = {id: replace(promise, model_sha256=None) for id, promise in promises.items()}
        ends |= {id: replace(decision, model_sha256=None, spec="") for id, decision in decisions.items()}
        return ends | {id: replace(closed, ended_at="", model_sha256=None) for id, closed in rounds.items()}


def test_a_worker_killed_in_the_middle_of_a_round_settles_the_same_promises(tmp_path):
    whole, killed = Installation(tmp_path / "whole"), Installation(tmp_path / "killed")
    whole.play()
    killed.play(KILLS)
    promises = [event for event in whole.told().values() if isinstance(event, PromiseChange)]
    assert len(promises) > 10
    assert len({promise.application for promise in promises}) == len(promises)
    assert killed.told() == whole.told()


# --- the pages --------------------------------------------------------------------------------------------------------

DOCS = Path(__file__).parents[3] / "docs"
SHOWN = [
    shlex.split(line, comments=True)
    for page in (DOCS / "demo.md", DOCS / "how-to" / "limited-places.md")
    for line in page.read_text(encoding="utf-8").splitlines()
    if line.startswith("onward demo --world competition")
]


@pytest.mark.parametrize("command", SHOWN, ids=" ".join)
def test_the_commands_of_the_pages_have_flags_that_are_there(command):
    settings = parse_settings(DemoSettings, "onward demo", "", command[2:])
    assert (settings.world, command[:2]) == ("competition", ["onward", "demo"])


def test_the_how_to_shows_the_competition():
    assert ["onward", "demo", "--world", "competition"] in SHOWN

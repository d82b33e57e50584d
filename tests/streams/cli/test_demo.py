"""The demo over real sockets: embedded broker, worker in its own process, counted results."""

from __future__ import annotations

import json
import time
from html import escape

import pytest

from onward.streams.cli import demo, main
from onward.streams.cli.process.worker_process import WorkerProcess
from onward.streams.errors import OnwardError, UsageError
from onward.streams.kafka.client import EventWriter
from onward.streams.kafka.embedded import EmbeddedBroker
from onward.streams.settings import BrokerSettings
from onward.streams.topics import Topics

KEYS = [
    "applications",
    "rejected",
    "recourse",
    "none",
    "lost",
    "duplicates",
    "conflicting_duplicates",
    "dead_letters",
    "fates",
    "open",
    "policies",
    "oracle_mer",
    "events_per_second",
    "latency_seconds",
    "none_share",
    "options",
    "mean_changes",
    "many_changes_share",
    "examples",
    "outcomes_are_simulated",
    "shown_answers",
]


def test_every_person_is_answered_and_counted_and_the_files_are_written(tmp_path, capsys):
    page, picture, kept = tmp_path / "page.html", tmp_path / "images" / "demo.svg", tmp_path / "kept"
    files = ["--report", str(page), "--picture", str(picture), "--keep", str(kept)]
    code = main(["demo", "--people", "20", "--seed", "1", "--json", *files])
    printed = capsys.readouterr()
    assert code == 0, printed.err
    summary = json.loads(printed.out)
    assert list(summary) == KEYS
    assert summary["applications"] == 3 * 20
    assert list(summary["policies"]) == ["protoar", "linucb", "residual"]
    assert summary["recourse"] + summary["none"] == summary["rejected"]
    assert [summary[name] for name in ("lost", "duplicates", "conflicting_duplicates", "dead_letters")] == [0] * 4
    closed = sum(summary["fates"][name] for name in ("rewarded", "censored", "unseen"))
    assert closed + summary["open"] == summary["recourse"]
    assert summary["fates"]["rewarded"] > 0
    assert summary["none_share"] == summary["none"] / summary["rejected"] < 0.1
    told = [option["changes"] for example in summary["examples"] for option in example["options"]]
    savings = [change for changes in told for change in changes if change["feature"] == "savings"]
    assert savings
    assert all(change["target"] <= 3 * change["current"] for change in savings)
    assert summary["many_changes_share"] < 0.1
    assert all(1 <= len(example["options"]) <= 3 for example in summary["examples"])
    for policy in summary["policies"].values():
        assert 0 < policy["mer"] < summary["oracle_mer"] < 1
    cheapest, linucb, default = summary["policies"].values()
    assert default["improvement"] > 0.7
    assert default["improvement"] > max(cheapest["improvement"], linucb["improvement"]) + 0.2
    assert default["cost"] > cheapest["cost"]
    assert {example["improvement_source"] for example in summary["examples"]} == {"labels"}
    assert 0 < summary["latency_seconds"]["p50"] <= summary["latency_seconds"]["p99"]
    assert (kept / "programs" / "personal-loan-linucb" / "spec.yaml").is_file()
    html = page.read_text(encoding="utf-8")
    assert html.count("<svg") == 2
    assert 'src="' not in html
    svg = picture.read_text(encoding="utf-8")
    assert "url(http" not in svg
    [option, *_] = summary["examples"][1]["options"]
    assert all(escape(text) in html for text in option["text"].values())
    assert option["text"]["en"].split(":")[0].replace(" ", "&#160;") in svg
    assert all("simulated" in drawn for drawn in (html, svg))
    assert all(f"{policy['mer']:.3f}" in drawn for policy in summary["policies"].values() for drawn in (html, svg))


@pytest.mark.kafka
def test_it_runs_on_a_kafka_that_is_there(cluster, capsys):
    code = main(["demo", "--brokers", cluster.bootstrap, "--people", "60", "--seed", "1", "--json"])
    summary = json.loads(capsys.readouterr().out)
    assert code == 0
    assert summary["applications"] == 3 * 60
    assert [summary[name] for name in ("lost", "duplicates", "conflicting_duplicates", "dead_letters")] == [0] * 4


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        (["--policies", "linucb,wizard"], "no choice 'wizard'"),
        (["--policies", "linucb,linucb"], "name each choice once"),
        (["--spec", "credit.yaml"], "give it with --data"),
        (["--data", __file__], "give --spec FILE"),
        (["--data", "absent/credit.csv"], "there is no such file"),
        (["--brokers", "nowhere"], "give host:port"),
        (["--report", "."], "--report .: cannot be written: it is a folder, name a file"),
        (["--picture", f"{__file__}/demo.svg"], f"demo.svg: cannot be written: {__file__} is not a folder"),
    ],
)
def test_wrong_flags_are_explained_in_one_line(flags, message, capsys):
    assert main(["demo", "--json", "--people", "5", "--policies", "protoar", *flags]) == UsageError.exit_code
    (error,) = capsys.readouterr().err.splitlines()
    assert error.startswith("onward: ")
    assert message in error


def test_a_folder_to_keep_must_be_new(tmp_path, capsys):
    (tmp_path / "something").touch()
    assert main(["demo", "--json", "--keep", str(tmp_path)]) == UsageError.exit_code
    assert "name a new folder" in capsys.readouterr().err


class SlowWorker:
    """Imports its code for a while, works for a while, and then writes to the journal."""

    def __init__(self, writer):
        self._writer, self._looks = writer, 0

    def check(self):
        self._looks += 1
        if self._looks == 8:
            self._writer.send("journal", b"begun")
            self._writer.flush()

    def progress(self):
        return max(0, self._looks - 4)

    def last_log_line(self):
        return "still at work"


def test_a_worker_may_take_any_time_to_begin_while_it_works(monkeypatch):
    monkeypatch.setattr(demo, "READY_SECONDS", 1.5 * demo.CHECK_SECONDS)
    with EmbeddedBroker({"journal": 1}) as broker, EventWriter(broker.options()) as writer:
        kafka = demo._Kafka(BrokerSettings(brokers=(broker.bootstrap,)), broker.options(), Topics())
        demo._await_worker(SlowWorker(writer), kafka)


def test_a_worker_that_says_nothing_more_does_not_begin(monkeypatch):
    monkeypatch.setattr(demo, "READY_SECONDS", 1.5 * demo.CHECK_SECONDS)
    monkeypatch.setattr(SlowWorker, "progress", lambda _: 1)
    with EmbeddedBroker({"journal": 1}) as broker, EventWriter(broker.options()) as writer:
        kafka = demo._Kafka(BrokerSettings(brokers=(broker.bootstrap,)), broker.options(), Topics())
        with pytest.raises(OnwardError, match=r"has not begun within 0\.3 s: still at work"):
            demo._await_worker(SlowWorker(writer), kafka)


def test_the_progress_of_a_worker_is_what_it_says_of_its_work(tmp_path):
    worker = WorkerProcess(BrokerSettings(brokers=("127.0.0.1:1",)), [], tmp_path / "log")
    assert worker.progress() == 0
    lines = [{"level": "info", "message": "opened ledger"}, {"level": "warning", "message": "no broker"}]
    (tmp_path / "log").write_text("".join(json.dumps(line) + "\n" for line in lines))
    assert worker.progress() == 1
    assert worker.last_log_line() == "no broker"


def check_forever(worker):
    while True:
        worker.check()
        time.sleep(0.05)


def test_a_worker_that_ends_is_reported_with_the_last_line_of_its_log(tmp_path):
    settings = BrokerSettings(brokers=("127.0.0.1:1",))
    flags = ["--spec", "a.yaml", "--state-dir", str(tmp_path), "--chunk-records", "0"]
    ended = pytest.raises(OnwardError, match=r"exit code 2: onward: --chunk-records .* greater than or equal to 1")
    with WorkerProcess(settings, flags, tmp_path / "log") as worker, ended:
        check_forever(worker)

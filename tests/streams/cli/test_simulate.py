"""The simulator over real sockets, against a worker that runs already."""

from __future__ import annotations

import urllib.error
import urllib.request

import pytest

from onward.streams.cli import main
from onward.streams.cli.web_thread import served
from onward.streams.cli.worker_process import WorkerProcess
from onward.streams.errors import OnwardError, UsageError
from onward.streams.kafka.embedded import EmbeddedBroker
from onward.streams.metrics import Metrics
from onward.streams.settings import BrokerSettings
from onward.streams.topics import Topics
from onward.streams.worker.readiness import Readiness
from onward.streams.worker.web import make_app

WORLD = ["--policies", "linucb", "--seed", "2"]


@pytest.fixture
def broker():
    topics = Topics()
    with EmbeddedBroker(dict.fromkeys((*topics.inputs, topics.journal, *topics.outputs), 2)) as broker:
        yield broker


def test_it_plays_to_the_end_and_again_under_new_ids(broker, tmp_path, capsys):
    assert main(["simulate", *WORLD, "--programs", str(tmp_path / "programs")]) == 0
    spec = capsys.readouterr().out.strip()
    flags = ["--spec", spec, "--state-dir", str(tmp_path / "state"), "--no-web", "--fetch-wait-seconds", "0.002"]
    with WorkerProcess(BrokerSettings(brokers=(broker.bootstrap,)), flags, tmp_path / "log"):
        for run in ("first", "second"):
            play = ["--people", "12", "--approved-share", "0", "--run-name", run, "--web-port", "0"]
            assert main(["simulate", *WORLD, "--brokers", broker.bootstrap, *play]) == 0
            assert capsys.readouterr().out.startswith("personal-loan-linucb: 12 answers, mean expected reward 0.")
        refused = main(["simulate", "--seed", "2", "--brokers", broker.bootstrap, "--people", "5", "--no-web"])
        assert refused == OnwardError.exit_code
        assert "no spec for program 'personal-loan-protoar'" in capsys.readouterr().err


def test_without_a_worker_it_gives_up_in_a_line(broker, capsys):
    flags = ["--brokers", broker.bootstrap, "--people", "5", "--no-web", "--patience-seconds", "0.3"]
    assert main(["simulate", *WORLD, *flags]) == OnwardError.exit_code
    assert "nothing came back for personal-loan-linucb/application/" in capsys.readouterr().err


def test_without_a_kafka_it_says_so(capsys):
    assert main(["simulate"]) == UsageError.exit_code
    assert capsys.readouterr().err == "onward: --brokers is missing: give it, or set ONWARD_BROKERS\n"


def test_pages_are_served_beside_the_play_and_a_taken_port_is_said():
    app = make_app(Metrics(), lambda: Readiness(True))
    with served(app, "127.0.0.1", 0) as port:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics") as page:
            assert b"onward_info" in page.read()
        for _ in range(30):  # how the thread that failed ends is a matter of who comes first
            again = make_app(Metrics(), lambda: Readiness(True))
            with pytest.raises(UsageError, match="choose another --web-port"), served(again, "127.0.0.1", port):
                pass
    with pytest.raises(urllib.error.URLError):
        urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics")

"""The simulator over real sockets, against a worker that runs already."""

from __future__ import annotations

import urllib.error
import urllib.request

import pytest

from onward.streams.cli import main
from onward.streams.cli.process.web_thread import serving
from onward.streams.errors import OnwardError, UsageError
from onward.streams.metrics import Metrics
from onward.streams.worker.readiness import Readiness
from onward.streams.worker.web import make_app


def test_a_world_is_simulated_to_its_end_and_again_under_another_run_name(installation, capsys):
    for run_name in ("first", "second"):
        assert installation.simulate("--people", "12", "--run-name", run_name, "--web-port", "0") == 0
        assert capsys.readouterr().out.startswith("personal-loan-linucb: 12 answers, mean expected reward 0.")
        assert len(installation.answers(run_name, 12)) == 12


def test_it_ends_with_the_dead_letter_of_a_program_that_no_worker_serves(installation, capsys):
    assert installation.simulate("--policies", "protoar", "--people", "5", "--no-web") == OnwardError.exit_code
    assert "no spec for program 'personal-loan-protoar'" in capsys.readouterr().err


def test_without_a_worker_it_gives_up_in_a_line(broker, capsys):
    flags = ["--brokers", broker.bootstrap, "--people", "5", "--no-web", "--patience-seconds", "0.3"]
    assert main(["simulate", "--policies", "linucb", "--seed", "2", *flags, "--run-name", "a"]) == OnwardError.exit_code
    told = capsys.readouterr().err
    assert "nothing came back for personal-loan-linucb/application/" in told
    assert "; where --run-name a was used before, its events are repeats" in told


def test_without_a_kafka_the_missing_flag_is_named(capsys):
    assert main(["simulate"]) == UsageError.exit_code
    assert capsys.readouterr().err == "onward: --brokers is missing: give it, or set ONWARD_BROKERS\n"


def test_metrics_are_served_while_the_context_lasts():
    with (
        serving(make_app(Metrics(), lambda: Readiness(True)), "127.0.0.1", 0) as port,
        urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics") as page,
    ):
        assert b"onward_info" in page.read()
    with pytest.raises(urllib.error.URLError):
        urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics")


def test_a_port_in_use_is_a_usage_error_however_the_server_thread_ends():
    with serving(make_app(Metrics(), lambda: Readiness(True)), "127.0.0.1", 0) as port:
        for _ in range(30):  # the thread and its caller race
            second = make_app(Metrics(), lambda: Readiness(True))
            with pytest.raises(UsageError, match="choose another --web-port"), serving(second, "127.0.0.1", port):
                pass

"""The board is current, and a real Prometheus has a series for each of its queries: of every metric as it is declared,
and of a running worker."""

import itertools
import json
import math
import re
import shutil
import socket
import subprocess
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.error import URLError
from urllib.parse import urlencode
from urllib.request import urlopen

import msgspec
import pytest
from ruamel.yaml import YAML

from onward.deploy.grafana.board import FILE, OTHERS, ROWS, Query, queries, render, rows, shows
from onward.schemas.events import Acted, Answer, Application, Erasure, Outcome, Value
from onward.schemas.headers import cloud_event_headers
from onward.schemas.kinds import ce_type
from onward.streams.cli import main
from onward.streams.cli.process.worker_process import WorkerProcess
from onward.streams.console.metrics import DECLARED
from onward.streams.engine.metrics import OBSERVATIONS, Observation
from onward.streams.kafka.client import EventReader, EventWriter
from onward.streams.kafka.embedded import EmbeddedBroker
from onward.streams.metrics import Declared, Metrics
from onward.streams.settings import BrokerSettings
from onward.streams.topics import Topics
from onward.tests.support.forked_process import ForkedProcess, workers_are_forked
from onward.tests.support.programs import PICKED, POLICIES, write_programs
from onward.tests.support.stricter_models import write_stricter

PROMETHEUS = shutil.which("prometheus")
PROMETHEUS_IS_THERE = pytest.mark.skipif(
    PROMETHEUS is None, reason="needs the program prometheus (Debian: apt-get install prometheus)"
)
CONFIGURATION = Path(__file__).parents[2] / "deploy" / "prometheus" / "prometheus.yml"
JOBS = ("onward", "simulator", "console")
SCRAPE_INTERVAL = "300ms"
RATE_INTERVAL = "5s"
PATIENCE_SECONDS = 600.0
"""It is over sooner on every machine on which all is well."""
UNUSUAL = (
    "onward_protected_reasons_total",
    "onward_unnamed_outcomes_total",
    "onward_ignored_previous_total",
    "onward_merged_dead_letters_total",
    "onward_events_ahead_total",
    "onward_expired_records_total",
    "onward_specs_total",
    "onward_journal_cut_failures_total",
    "onward_journal_begin_offset",
)
"""Metrics of what does not happen to this worker: they have no series until it does."""
PROCESS = (
    Declared("process_cpu_seconds_total", "counter", (), "Of Prometheus' own client."),
    Declared("process_resident_memory_bytes", "gauge", (), "Of Prometheus' own client."),
)
UNPLACED = {
    "rare": Observation("Counted, and shown by no panel of ``ROWS``.", ("program", "result")),
    "recent": Observation("Its name begins others.", ("reason",)),
    "rare_steps": Observation("Observed, and shown by no panel of ``ROWS``.", ("program",), (1.0, 2.0)),
}
PAUSE_SECONDS = 0.3
TOPICS = Topics()
LIMITED = {
    "limited": {
        "policy": {**POLICIES["limited"]["policy"], "window": {"time": "PT12S", "lateness": "PT1S"}},
        "capacity": {"places": 20, "round": "PT2S", "horizon": 5},
        "shards": 1,
    }
}
PROMISED = {
    "promised": {
        "policy": {
            "objective": "cost",
            "choice": "posterior",
            "generator": "search",
            "options": 2,
            "window": {"time": "PT1H"},
        },
        "promise": {"kind": "lp", "radius": 0.1},
    }
}
ASKED = {
    "asked": {
        "policy": {**PICKED, "choice": "protoar", "generator": "plans", "window": {"time": "PT1H", "lateness": "PT1S"}},
        "elicitation": {"tolerance": 0, "deadline": "PT2S"},
    }
}
STAGED = {
    "staged": {
        "policy": {
            **PROMISED["promised"]["policy"],
            "choice": "stages",
            "window": {"acted": "PT1H", "outcome": "PT2H", "acting": "reports"},
        }
    }
}
WRITTEN = {**LIMITED, **PROMISED, **ASKED, **STAGED, "picked": POLICIES["picked"]}
BEYOND_THE_RADIUS = 0.13
"""By how much a later model is stricter, in log odds: it must be asked about the options, and accepts them."""
ROUNDS_BEFORE_IT = 10
RETURN_SECONDS = 5.0
"""How long people of the program with limited places wait for their answer before they apply again."""
POLICY_FLAGS = ["--policies", "linucb,residual"]
PLAY = [*POLICY_FLAGS, "--people", "2000", "--rate", "30", "--approved-share", "0.2", "--patience-seconds", "3600"]


def test_the_board_is_current_and_holds_every_query_once() -> None:
    assert FILE.read_text(encoding="utf-8") == render(), "run: make generate"
    panels = [panel for panel in json.loads(render())["panels"] if panel["type"] != "row"]
    shown = [target["expr"] for panel in panels for target in panel["targets"]]
    assert shown == [query.expression for query in queries(rows())]
    assert len(panels) == sum(map(len, rows().values()))


def test_every_metric_is_on_the_board() -> None:
    text = " ".join(query.expression for query in queries(rows()))
    assert not [metric.name for metric in (*Metrics().declared, *DECLARED) if metric.name not in text]


def exposed(metrics: Iterable[Declared], value: int) -> str:
    """Two series of each metric: one with the value that a query names, one with another."""
    lines = []
    for metric, text in itertools.product(metrics, ("rewards", "other")):
        labels = [f'{label}="{text}"' for label in metric.labels]
        buckets = [("_bucket", [f'le="{bound}"']) for bound in ("1.0", "+Inf")]
        ends = [*buckets, ("_sum", []), ("_count", [])] if metric.type == "histogram" else [("", [])]
        lines += [f"{metric.name}{end}{{{','.join([*labels, *own])}}} {value}" for end, own in ends]
    return "".join(f"{line}\n" for line in dict.fromkeys(lines))


@contextmanager
def page_of(metrics: Iterable[Declared]) -> Iterator[str]:
    """HOST:PORT of a page of all metrics, whose values grow whenever it is read."""
    numbers = itertools.count(1)

    class Page(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.send_header("Content-Type", "text/plain; version=0.0.4")
            self.end_headers()
            self.wfile.write(exposed(metrics, next(numbers)).encode())

        def log_message(self, *_: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Page) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"127.0.0.1:{server.server_port}"
        server.shutdown()


@pytest.fixture
def broker() -> Iterator[EmbeddedBroker]:
    with EmbeddedBroker(dict.fromkeys((*TOPICS.inputs, TOPICS.journal, *TOPICS.outputs), 2)) as broker:
        yield broker


@pytest.fixture
def worker(broker: EmbeddedBroker, tmp_path: Path) -> Iterator[str]:
    """HOST:PORT of the pages of a worker that serves the simulator's programs, one of them in two shards, one program
    with limited places, one with promises, one that asks, and one whose recourses say whom they satisfy."""
    assert main(["simulate", *POLICY_FLAGS, "--programs", str(tmp_path / "programs")]) == 0
    # Two shards that share, in the two partitions of the journal.
    with (tmp_path / "programs" / "personal-loan-residual" / "spec.yaml").open("a", encoding="utf-8") as spec:
        spec.write("shards: 2\n")
    paths = [*(tmp_path / "programs").glob("*/spec.yaml"), *write_programs(tmp_path / "written", WRITTEN)]
    specs = [word for path in paths for word in ("--spec", str(path))]
    pages = ["--web-host", "127.0.0.1", "--web-port", "0", "--tick-seconds", "0.3"]
    snapshots = ["--snapshots", str(tmp_path / "snapshots"), "--snapshot-minutes", "0.02"]
    flags = [*specs, *pages, *snapshots, "--state-dir", str(tmp_path / "state"), "--fetch-wait-seconds", "0.01"]
    log = tmp_path / "worker.log"
    with workers_are_forked(), WorkerProcess(BrokerSettings(brokers=(broker.bootstrap,)), flags, log) as running:
        yield told(log, r'"address": "([^"]+)"', running.check)


@pytest.fixture
def simulator(broker: EmbeddedBroker, worker: str, tmp_path: Path) -> Iterator[str]:
    """HOST:PORT of the pages of `onward simulate`, which plays against the worker."""
    flags = ["--brokers", broker.bootstrap, "--web-host", "127.0.0.1", "--web-port", "0", *PLAY]
    log = tmp_path / "simulator.log"
    log.touch()
    with ForkedProcess(main, ["simulate", *flags], log, {}) as process:

        def check() -> None:
            assert process.exit_code is None, log.read_text()

        yield told(log, r"serving /metrics on (\S+)", check)


@pytest.fixture
def console(broker: EmbeddedBroker, worker: str, tmp_path: Path) -> Iterator[str]:
    """HOST:PORT of the office of a console of a program that the simulator plays."""
    flags = ["--spec", str(tmp_path / "programs" / "personal-loan-linucb" / "spec.yaml"), "--port", "0"]
    flags += ["--office-port", "0", "--state-dir", str(tmp_path / "console")]
    log = tmp_path / "console.log"
    settings, command = BrokerSettings(brokers=(broker.bootstrap,)), ("console", "serve")
    with workers_are_forked(), WorkerProcess(settings, flags, log, command=command) as running:
        yield told(log, r"office http://(\S+)", running.check)


@contextmanager
def running(command: list[str], log: Path) -> Iterator[None]:
    """Run a command beside the test."""
    with log.open("wb") as stream:
        process = subprocess.Popen(command, stdout=stream, stderr=stream)
    try:
        yield
    finally:
        process.terminate()
        process.wait()


def told(log: Path, pattern: str, check: Callable[[], None]) -> str:
    """What a log says, as soon as it does."""
    while not (found := re.search(pattern, log.read_text())):
        check()
        time.sleep(0.05)
    return found[1]


@contextmanager
def prometheus(targets: dict[str, str], folder: Path) -> Iterator[str]:
    """The address of a Prometheus with the jobs of deploy/, but other places and shorter intervals."""
    configuration = YAML(typ="safe").load(CONFIGURATION)
    configuration["global"]["scrape_interval"] = configuration["global"]["scrape_timeout"] = SCRAPE_INTERVAL
    for job in configuration["scrape_configs"]:
        job["static_configs"] = [{"targets": [targets.pop(job["job_name"])]}]
    assert not targets
    configuration["rule_files"] = [str(CONFIGURATION.parent / rules) for rules in configuration["rule_files"]]
    own = folder / "prometheus.json"
    own.write_text(json.dumps(configuration))
    with socket.create_server(("127.0.0.1", 0)) as probe:
        address = f"127.0.0.1:{probe.getsockname()[1]}"
    command = [str(PROMETHEUS), f"--config.file={own}", f"--storage.tsdb.path={folder / 'data'}"]
    with running([*command, f"--web.listen-address={address}"], folder / "prometheus.log"):
        yield f"http://{address}"


def trouble(broker: EmbeddedBroker) -> None:
    """A record that cannot be read, one that is sent twice, an erasure, and an event of who was erased."""
    with EventReader(broker.options(), [TOPICS.applications]) as reader, EventWriter(broker.options()) as writer:
        headers = cloud_event_headers("broken", "test", ce_type(Application), time.time_ns() // 1_000_000)
        writer.send(TOPICS.applications, b"{", headers=headers)
        sent = next((record for record in reader.poll(5) if record.value != b"{"), None)
        if sent is not None:
            writer.send(TOPICS.applications, sent.value or b"", key=sent.key, headers=sent.headers)
            program = msgspec.json.decode(sent.value or b"")["program"]
            for topic, event in (
                (TOPICS.erasures, Erasure(program, "erased")),
                (TOPICS.outcomes, Outcome(program, "erased", "improved")),
            ):
                headers = cloud_event_headers(f"erased-{topic}", "test", ce_type(event), time.time_ns() // 1_000_000)
                writer.send(topic, msgspec.json.encode(event), headers=headers)


class Competitors:
    """People who apply to the program with limited places, are rejected, and come back with the best that there is.

    They apply to the other programs too. Every other one answers a question, and all pick an
    option when they have some.
    """

    def __init__(self, broker: EmbeddedBroker) -> None:
        self._broker = broker
        self._applied: dict[str, float] = {}
        self._number = 0

    def apply(self) -> None:
        """Somebody new applies, twice, which leaves one of the two without a recourse; who has waited long enough
        comes back."""
        self._number += 1
        now = time.monotonic()
        back = [name for name, since in self._applied.items() if now - since > RETURN_SECONDS]
        with EventWriter(self._broker.options()) as writer:
            for name in (f"new-{self._number}", f"twice-{self._number}"):
                poor: Mapping[str, Value] = {"region": "north", "income": 5, "debts": 9}
                self._send(writer, name, poor, applicant=f"person {self._number}")
            for program in sorted(WRITTEN.keys() - LIMITED.keys()):
                self._send(writer, f"{program}-{self._number}", poor, program)
            if self._number % 2:
                self._answer(writer, f"asked-{self._number}", question=1)
            self._answer(writer, f"asked-{self._number}")
            for name in back:
                # By now they have their options: what they pick shows what the regret is that they were told.
                self._answer(writer, name.replace("new-", "asked-"), when="later")
                who = {"previous": name, "applicant": name.replace("new-", "person ")}
                self._acted(writer, name.replace("new-", "staged-"))
                self._send(writer, f"back-{name}", {"region": "north", "income": 100, "debts": 0}, **who)
                del self._applied[name]
        self._applied[f"new-{self._number}"] = now

    def _send(
        self, writer: EventWriter, name: str, features: Mapping[str, Value], program: str = "limited", **who: str
    ) -> None:
        event = Application(program, name, features, **who)
        headers = cloud_event_headers(name, "test", ce_type(event), time.time_ns() // 1_000_000)
        writer.send(TOPICS.applications, msgspec.json.encode(event), key=name.encode(), headers=headers)

    def _acted(self, writer: EventWriter, name: str) -> None:
        headers = cloud_event_headers(f"acted-{name}", "test", ce_type(Acted), time.time_ns() // 1_000_000)
        writer.send(TOPICS.acted, msgspec.json.encode(Acted("staged", name, "1")), key=name.encode(), headers=headers)

    def _answer(self, writer: EventWriter, name: str, when: str = "at once", **question: int) -> None:
        event = Answer("asked", name, "1", **question)
        id = f"answer-{name}-{len(question)}-{when}"
        headers = cloud_event_headers(id, "test", ce_type(event), time.time_ns() // 1_000_000)
        writer.send(TOPICS.answers, msgspec.json.encode(event), key=name.encode(), headers=headers)


def answered(server: str, query: Query) -> bool:
    """Whether the query gives a series with a number."""
    expression = query.expression.replace("$program", ".*").replace("$__rate_interval", RATE_INTERVAL)
    expression = expression.replace("$__range", RATE_INTERVAL)
    with urlopen(f"{server}/api/v1/query?{urlencode({'query': expression})}") as response:
        found = json.load(response)["data"]["result"]
    return any(not math.isnan(float(series["value"][1])) for series in found)


@PROMETHEUS_IS_THERE
def test_queries_ask_for_metrics_as_they_are_declared(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, observation in UNPLACED.items():
        monkeypatch.setitem(OBSERVATIONS, name, observation)
    declared, missing = [*Metrics().declared, *DECLARED, *PROCESS], list(queries(rows()))
    assert {"Rare", "Recent", "Rare steps"} <= {panel.title for panel in rows()[OTHERS]}
    deadline = time.monotonic() + PATIENCE_SECONDS
    with page_of(declared) as page, prometheus(dict.fromkeys(JOBS, page), tmp_path) as server:
        while missing and time.monotonic() < deadline:
            time.sleep(PAUSE_SECONDS)
            with suppress(URLError):
                missing = [query for query in missing if not answered(server, query)]
    assert not missing


@PROMETHEUS_IS_THERE
def test_every_query_gives_a_series(
    broker: EmbeddedBroker, worker: str, simulator: str, console: str, tmp_path: Path
) -> None:
    missing = [query for query in queries(ROWS) if not any(shows(query.expression, name) for name in UNUSUAL)]
    deadline, competitors = time.monotonic() + PATIENCE_SECONDS, Competitors(broker)
    programs = tmp_path / "written"
    stricter = write_stricter(programs / "stricter", programs / "promised.yaml", BEYOND_THE_RADIUS)
    announce = ["models", "announce", "--brokers", broker.bootstrap, "--manifest", stricter]
    with prometheus(dict(zip(JOBS, (worker, simulator, console), strict=True)), tmp_path) as server:
        for number in itertools.count():
            if not missing or time.monotonic() > deadline:
                break
            if number == ROUNDS_BEFORE_IT:
                assert main(announce) == 0
            trouble(broker)
            competitors.apply()
            with suppress(URLError):
                missing = [query for query in missing if not answered(server, query)]
            time.sleep(PAUSE_SECONDS)
    assert not missing

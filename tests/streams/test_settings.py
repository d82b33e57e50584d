from collections.abc import Iterator
from importlib import import_module
from pathlib import Path

import msgspec
import pytest

from onward.streams.cli import COMMANDS
from onward.streams.cli.demo import DemoSettings
from onward.streams.cli.flags.parsing import parse_settings
from onward.streams.cli.models import ModelSettings
from onward.streams.cli.simulate import SimulateSettings
from onward.streams.cli.status import StatusSettings
from onward.streams.cli.topics import TopicSettings
from onward.streams.errors import UsageError
from onward.streams.journal.dead_letters import HEADER_BYTES, dead_letter_of_record
from onward.streams.kafka.connection import connection, worker_options
from onward.streams.records import Record
from onward.streams.settings import LARGEST_RECORD_BYTES, BrokerSettings, WorkerSettings

NEEDED = ["--brokers", "a:9092,b:9092", "--spec", "one.yaml", "--spec", "two.yaml", "--state-dir", "state"]
ALL = [
    BrokerSettings,
    WorkerSettings,
    TopicSettings,
    ModelSettings,
    StatusSettings,
    DemoSettings,
    SimulateSettings,
]
SASL = ["--security-protocol", "sasl_ssl", "--sasl-mechanism", "scram-sha-256", "--sasl-username", "onward"]


def worker(*args: str) -> WorkerSettings:
    return parse_settings(WorkerSettings, "onward worker", "", [*NEEDED, *args])


def test_a_flag_repeats_or_takes_a_list() -> None:
    settings = worker()
    assert settings.brokers == ("a:9092", "b:9092")
    assert settings.spec == (Path("one.yaml"), Path("two.yaml"))


def test_every_flag_is_a_variable_and_the_flag_wins(monkeypatch: pytest.MonkeyPatch) -> None:
    given = {
        "brokers": "c:1, d:2",
        "spec": "three.yaml,four.yaml",
        "state_dir": "there",
        "chunk_records": "7",
        "web": "no",
        "log_level": "WARNING",
    }
    for name, value in given.items():
        monkeypatch.setenv(f"ONWARD_{name.upper()}", value)
    settings = parse_settings(WorkerSettings, "onward worker", "", ["--chunk-records", "9"])
    assert (settings.brokers, settings.spec) == (("c:1", "d:2"), (Path("three.yaml"), Path("four.yaml")))
    assert (settings.chunk_records, settings.web, settings.log_level) == (9, False, "warning")


@pytest.mark.parametrize("settings", ALL)
def test_help_names_the_flag_and_the_variable_of_every_setting(
    settings: type[BrokerSettings], capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit):
        parse_settings(settings, "onward", "", ["--help"])
    text = " ".join(capsys.readouterr().out.split())
    for name, field in settings.names().items():
        assert f"--{name.replace('_', '-')}" in text
        assert f"[env: ONWARD_{name.upper()}]" in text
        assert field.description


def test_an_empty_variable_is_absent(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ONWARD_SASL_PASSWORD", "")
    monkeypatch.setenv("ONWARD_CHUNK_RECORDS", "")
    assert worker().sasl_password is None
    assert worker().chunk_records == 500


def test_a_secret_never_shows(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setenv("ONWARD_SASL_PASSWORD", "swordfish")
    settings = worker(*SASL)
    assert connection(settings).sasl_password == "swordfish"
    with pytest.raises(SystemExit):
        worker("--help")
    with pytest.raises(UsageError) as refused:
        worker("--chunk-records", "none")
    shown = (repr(settings), str(settings), settings.model_dump_json(), repr(worker_options(settings)))
    assert "swordfish" not in "".join((*shown, str(refused.value), *capsys.readouterr()))


@pytest.mark.parametrize(
    ("args", "words"),
    [
        (["--chunk-records", "0"], "--chunk-records or ONWARD_CHUNK_RECORDS: input should be greater than or equal"),
        (["--chunk-records", "0", "--web-port", "x"], "; --web-port or ONWARD_WEB_PORT: "),
        (["--brokers"], "argument --brokers: expected one argument"),
        (["--chunk", "3"], "there is no flag --chunk: did you mean --chunk-records?"),
        (["--security-protocol", "SASL_SSL"], "SASL_SSL needs sasl_mechanism, sasl_username and sasl_password"),
        (["--sasl-username", "me"], "security_protocol PLAINTEXT does not log in"),
        (["--ssl-certfile", "cert.pem"], "ssl_certfile and ssl_keyfile belong together"),
        (["--ssl-cafile", "nowhere.pem"], "ssl_cafile nowhere.pem is not a file"),
        (["--journal-days", "28"], "journal_days needs snapshots"),
        (["--archive", "a"], "archive needs journal_days"),
        (["--archive-key-command", "a"], "archive_key_command needs archive"),
        (["--topic-prefix", "a b"], "--topic-prefix or ONWARD_TOPIC_PREFIX: "),
    ],
)
def test_what_is_wrong_is_one_line(args: list[str], words: str) -> None:
    with pytest.raises(UsageError) as refused:
        worker(*args)
    assert words in str(refused.value)
    assert "\n" not in str(refused.value)


def test_what_is_missing_is_named_with_its_variable() -> None:
    with pytest.raises(UsageError, match=r"--spec and --state-dir are missing: give them, or set ONWARD_SPEC and"):
        parse_settings(WorkerSettings, "onward worker", "", ["--brokers", "a:1"])


def test_settings_become_kafka_options(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ONWARD_SASL_PASSWORD", "swordfish")
    more = ["--session-timeout-seconds", "6", "--commit-interval-seconds", "0.25"]
    options = worker_options(worker(*SASL, *more, "--group", "eu", "--group-instance-id", "w1"))
    assert options.brokers == ("a:9092", "b:9092")
    assert (options.group, options.group_instance_id) == ("eu", "w1")
    assert (options.security_protocol, options.sasl_mechanism) == ("SASL_SSL", "SCRAM-SHA-256")
    assert (options.session_timeout_ms, options.heartbeat_ms, options.commit_interval_ms) == (6000, 1000, 250)


def test_the_dead_letter_of_the_largest_record_fits_a_kafka_record() -> None:
    assert worker("--max-record-bytes", str(LARGEST_RECORD_BYTES)).max_record_bytes == LARGEST_RECORD_BYTES
    with pytest.raises(UsageError, match="--max-record-bytes or ONWARD_MAX_RECORD_BYTES: "):
        worker("--max-record-bytes", str(LARGEST_RECORD_BYTES + 1))
    headers = [("h", b"\0" * (HEADER_BYTES - 1))]
    record = Record("applications", 0, 2**62, 0, b"\0" * HEADER_BYTES, b"\0" * (LARGEST_RECORD_BYTES + 1), headers)
    letter = dead_letter_of_record(record, "oversized", "d" * 1000, LARGEST_RECORD_BYTES)
    assert len(msgspec.json.encode(letter)) < worker_options(worker()).max_request_bytes - HEADER_BYTES


@pytest.mark.parametrize("settings", [WorkerSettings, SimulateSettings])
def test_pages_are_served_on_this_machine_alone_unless_told_otherwise(settings):
    assert settings.names()["web_host"].default == "127.0.0.1"


@pytest.mark.attack
@pytest.mark.parametrize("value", ["inf", "-inf", "nan"])
@pytest.mark.parametrize("flag", ["--max-future-seconds", "--max-age-days", "--tick-seconds"])
def test_a_number_that_is_not_finite_is_refused_in_one_line(flag: str, value: str) -> None:
    with pytest.raises(
        UsageError, match=rf"^{flag} or ONWARD_\w+: input should be a finite number \(it is '{value}'\)$"
    ):
        worker(f"{flag}={value}")


def test_every_number_with_a_fraction_has_an_end() -> None:
    """Its milliseconds must not be more than a number can be."""
    found = 0
    for command in COMMANDS:
        import_module(f"onward.streams.cli.{command.replace('-', '_')}")
    for settings in every_settings(BrokerSettings):
        assert settings.model_config["allow_inf_nan"] is False
        for name, given in settings.model_fields.items():
            if "float" in str(given.annotation):
                found += 1
                bounds = [getattr(one, "le", getattr(one, "lt", None)) for one in given.metadata]
                assert any(bound is not None for bound in bounds), f"{settings.__name__}.{name}"
    assert found >= 20


def every_settings(of: type[BrokerSettings]) -> Iterator[type[BrokerSettings]]:
    yield of
    for own in of.__subclasses__():
        yield from every_settings(own)

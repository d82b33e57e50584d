"""Settings: every flag of a command is also an environment variable ``ONWARD_...``.

``--chunk-records 200`` and ``ONWARD_CHUNK_RECORDS=200`` are the same setting; the flag wins. An empty variable
counts as absent. Secrets are masked wherever a settings object is printed.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Annotated, Literal, Self

from pydantic import BeforeValidator, Field, SecretStr, field_validator, model_validator
from pydantic.fields import FieldInfo
from pydantic_settings import BaseSettings, CliPositionalArg, NoDecode, SettingsConfigDict

from . import worker_defaults as defaults
from .programs.load_limits import LoadLimits


def _split(value: object) -> object:
    if isinstance(value, str):
        return tuple(part.strip() for part in value.split(",") if part.strip())
    return value


def _upper(value: object) -> object:
    return value.upper() if isinstance(value, str) else value


def _lower(value: object) -> object:
    return value.lower() if isinstance(value, str) else value


Names = Annotated[tuple[str, ...], NoDecode, BeforeValidator(_split)]
Paths = Annotated[tuple[Path, ...], NoDecode, BeforeValidator(_split)]
SecurityProtocol = Literal["PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL"]
SaslMechanism = Literal["PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512"]
ModelBytes = Annotated[
    int,
    Field(ge=1 << 24, le=1 << 40, description="Memory that loading a model may take; one that takes more is refused."),
]
WebHost = Annotated[
    str, Field(description="Address to serve them on; with 0.0.0.0 every machine that reaches this one can read them.")
]
ArchiveKeyCommand = Annotated[
    str | None,
    Field(
        min_length=1,
        description="Command that is given a month, such as 2026-10, and prints the key that seals what the archive "
        "has of it: 32 bytes in base64; the archive is not sealed when absent.",
    ),
]
LogLevel = Literal["debug", "info", "warning", "error"]
LogFormat = Literal["json", "text"]

LARGEST_RECORD_BYTES = 1 << 19
JOURNAL_PLACE = re.compile(r"[0-9]{1,5}:[0-9]{1,18}")
"""In base64, and with the 32 KiB of key and headers that a dead letter keeps, a record stays below 1 MiB."""


def _check_archive(archive: str | None, key_command: str | None) -> None:
    if archive is None and key_command is not None:
        raise ValueError("archive_key_command needs archive: nothing else is sealed")


class BrokerSettings(BaseSettings):
    """The connection to Kafka, and the prefix of the topics."""

    model_config = SettingsConfigDict(
        env_prefix="ONWARD_",
        env_prefix_target="all",
        env_ignore_empty=True,
        cli_avoid_json=True,
        cli_exit_on_error=False,
        cli_hide_none_type=True,
        cli_implicit_flags=True,
        cli_kebab_case=True,
        cli_show_env_vars=True,
        frozen=True,
        allow_inf_nan=False,
    )

    brokers: Names = Field(min_length=1, description="Kafka brokers, HOST:PORT, comma separated.")
    topic_prefix: str = Field(
        "",
        pattern=r"^[a-zA-Z0-9._-]{0,100}$",
        description="Prefix of every topic name; separates installations on one Kafka.",
    )
    security_protocol: Annotated[SecurityProtocol, BeforeValidator(_upper)] = Field(
        "PLAINTEXT", description="Security protocol of the broker connections."
    )
    sasl_mechanism: Annotated[SaslMechanism, BeforeValidator(_upper)] | None = Field(
        None, description="SASL mechanism; needed with a SASL_... protocol."
    )
    sasl_username: str | None = Field(None, description="User to log in as.")
    sasl_password: SecretStr | None = Field(
        None, description="Its password. Prefer the variable: a flag is visible in the process list."
    )
    ssl_cafile: Path | None = Field(None, description="CA certificates (PEM) to trust; the system's when absent.")
    ssl_certfile: Path | None = Field(None, description="Client certificate (PEM), for mutual TLS.")
    ssl_keyfile: Path | None = Field(None, description="Key of the client certificate (PEM).")
    ssl_keyfile_password: SecretStr | None = Field(None, description="Password of that key, when it has one.")

    @model_validator(mode="after")
    def _security_is_complete(self) -> Self:
        sasl = (self.sasl_mechanism, self.sasl_username, self.sasl_password)
        if self.security_protocol.startswith("SASL_") and None in sasl:
            raise ValueError(
                f"security_protocol {self.security_protocol} needs sasl_mechanism, sasl_username and sasl_password"
            )
        if not self.security_protocol.startswith("SASL_") and sasl != (None, None, None):
            raise ValueError(
                f"sasl_... settings are given, but security_protocol {self.security_protocol} does not log in: "
                "use SASL_SSL or SASL_PLAINTEXT"
            )
        if (self.ssl_certfile is None) != (self.ssl_keyfile is None):
            raise ValueError("ssl_certfile and ssl_keyfile belong together: give both or none")
        for name in ("ssl_cafile", "ssl_certfile", "ssl_keyfile"):
            path: Path | None = getattr(self, name)
            if path is not None and not path.is_file():
                raise ValueError(f"{name} {path} is not a file")
        return self

    @classmethod
    def names(cls) -> dict[str, FieldInfo]:
        """Every setting by the name that its flag and its variable are made of."""
        return {str(field.validation_alias or name): field for name, field in cls.model_fields.items()}


class TopicSettings(BrokerSettings):
    """Settings of ``onward topics``."""

    partitions: int = Field(6, ge=1, le=10_000, description="Partitions of every topic; programs are spread over them.")
    replication: int = Field(3, ge=1, le=100, description="Copies of every partition; 1 on a single broker.")


class StatusSettings(BrokerSettings):
    """Settings of ``onward status``."""

    group: str = Field(defaults.GROUP, min_length=1, description="Consumer group of the workers.")
    state_dir: Path | None = Field(None, description="Folder of a worker's ledgers, to be read as well.")
    as_json: bool = Field(False, validation_alias="json", description="Print one JSON object instead of tables.")


class ShowSettings(BrokerSettings):
    """Settings of ``onward show``."""

    application: CliPositionalArg[str] = Field(min_length=1, max_length=200, description="Name of the application.")
    program: str | None = Field(
        None,
        pattern=r"^[a-z0-9][a-z0-9._-]{0,62}$",
        description="Program of the application; all of them when absent. With it the journal is read faster.",
    )
    spec: Path | None = Field(
        None,
        description="Program spec (YAML), to tell what answers taught: the journal is read from its beginning.",
    )
    as_json: bool = Field(False, validation_alias="json", description="Print one JSON object instead of lines.")


class ExplainSettings(ShowSettings):
    """Settings of ``onward explain``."""

    spec: Path | None = Field(
        None,
        description="Program spec (YAML), to tell the options considered: the journal is read from its beginning.",
    )
    html: Path | None = Field(None, description="File to write the page to as HTML, instead of lines.")


class DeadLetterSettings(BrokerSettings):
    """Settings of ``onward dead-letters list``: which dead letters are meant."""

    reason: Names = Field((), description="Those of this reason; repeat the flag for several.")
    program: str | None = Field(None, min_length=1, description="Those whose record names this program.")
    topic: Names = Field((), description="Those of records of this input topic; repeat the flag for several.")
    since: str | None = Field(
        None, description="Those sent at this time or later: 2026-11-21, 2026-11-21T08:49:00Z, or P1D for a day ago."
    )
    until: str | None = Field(None, description="Those sent before this time.")
    as_json: bool = Field(False, validation_alias="json", description="Print one JSON object instead of lines.")


class ShowLetterSettings(BrokerSettings):
    """Settings of ``onward dead-letters show``."""

    letters: CliPositionalArg[Names] = Field(min_length=1, description="Dead letters, TOPIC/PARTITION/OFFSET.")
    as_json: bool = Field(False, validation_alias="json", description="Print one JSON object instead of lines.")


class RetrySettings(DeadLetterSettings):
    """Settings of ``onward dead-letters retry``."""

    letters: CliPositionalArg[Names] = Field((), description="Dead letters, TOPIC/PARTITION/OFFSET.")
    all: bool = Field(False, description="All of them; else give dead letters or flags that say which.")
    dry_run: bool = Field(False, description="Tell what would be sent again, and send nothing.")
    now: bool = Field(
        False,
        description="Send with the time of the retry as event time, so that windows begin now; else each record keeps "
        "its own.",
    )
    group: str = Field(defaults.GROUP, min_length=1, description="Consumer group of the workers.")
    patience_seconds: float = Field(
        60, gt=0, le=86_400, description="Longest wait until the workers have read applications, before decisions."
    )


class ModelSettings(BrokerSettings):
    """Settings of ``onward models announce``."""

    manifest: str = Field(
        min_length=1, description="The model's manifest: a path, or an fsspec address that every worker can read."
    )
    spec: Paths = Field(
        (), description="Specs of the workers' programs, to compare the model's columns with those of its program."
    )
    state_dir: Paths = Field(
        (), description="Folders of workers' ledgers, to tell how many open options the model breaks."
    )
    max_model_bytes: ModelBytes = LoadLimits.memory_bytes


class SpecSettings(BrokerSettings):
    """Settings of ``onward specs announce``."""

    file: CliPositionalArg[Path] = Field(description="The changed spec.")
    max_model_bytes: ModelBytes = LoadLimits.memory_bytes


class WorkerSettings(BrokerSettings):
    """Settings of ``onward worker``."""

    spec: Paths = Field(min_length=1, description="Program specs (YAML); repeat the flag or separate by commas.")
    state_dir: Path = Field(description="Folder of the ledgers, one SQLite file a journal partition.")
    group: str = Field(
        defaults.GROUP, min_length=1, description="Consumer group; workers of one group share the partitions."
    )
    group_instance_id: str | None = Field(
        None, min_length=1, description="Stable name of this worker: a quick restart then moves no partition."
    )
    session_timeout_seconds: float = Field(
        defaults.SESSION_TIMEOUT_SECONDS,
        ge=6,
        le=1800,
        description="Time without a heartbeat after which the group reassigns a worker's partitions.",
    )
    fetch_wait_seconds: float = Field(
        defaults.FETCH_WAIT_SECONDS, ge=0.001, le=30, description="Longest wait of a fetch that finds nothing new."
    )
    fetch_pause_seconds: float = Field(
        defaults.FETCH_PAUSE_SECONDS,
        ge=0,
        le=1,
        description="Longest pause between two fetches from a broker that returned records, so that more gather; it "
        "ends when the worker has nothing to do.",
    )
    chunk_records: int = Field(
        defaults.CHUNK_RECORDS,
        ge=1,
        le=100_000,
        description="Most records of a partition that a handler gets at once (a chunk).",
    )
    commit_interval_seconds: float = Field(
        defaults.COMMIT_INTERVAL_SECONDS, gt=0, le=60, description="How often offsets are committed to the group."
    )
    tick_seconds: float = Field(
        10,
        ge=0,
        le=3600,
        description="How often the event time of idle input partitions is written to the journal; 0 turns it off.",
    )
    max_record_bytes: int = Field(
        defaults.MAX_RECORD_BYTES,
        ge=1024,
        le=LARGEST_RECORD_BYTES,
        description=f"A larger record is a dead letter. At most {LARGEST_RECORD_BYTES}: a dead letter holds it in "
        "base64 and must fit Kafka's own limit of 1 MiB.",
    )
    max_batch_bytes: int = Field(
        defaults.MAX_BATCH_BYTES,
        ge=1 << 20,
        le=1 << 30,
        description="A batch of records that unpacks to more is one dead letter; reading takes about 4 times as much "
        "memory.",
    )
    max_future_seconds: float = Field(
        defaults.MAX_FUTURE_SECONDS,
        ge=0,
        le=31_536_000,
        description="No event moves time further than this beyond the worker's clock. An event further ahead is used, "
        "with the time that it says; one that is more than a day ahead is a dead letter.",
    )
    max_age_days: float = Field(defaults.MAX_AGE_DAYS, gt=0, le=36_500, description="An older record is a dead letter.")
    max_dead_letters_per_second: int = Field(
        defaults.MAX_DEAD_LETTERS_PER_SECOND,
        ge=1,
        description="Dead letters of an input partition in a second; what is unusable beyond them shares dead letters, "
        "`quota_exceeded`.",
    )
    model_addresses: Names = Field(
        (),
        description="Folders, buckets or hosts from which a model event may name a model; by default the folder that "
        "holds the bundle of the program's first model, or, where that is a whole file system, bucket or host, that "
        "bundle's own.",
    )
    accept: Path | None = Field(
        None,
        description="File with the models and specs that may be announced (docs/how-to/pin-models.md); any when "
        "absent.",
    )
    skip: Names = Field(
        (),
        description="Forged record of the journal that a worker has refused, PARTITION:OFFSET: it is left out for "
        "ever. Repeat the flag for several.",
    )
    max_model_bytes: ModelBytes = LoadLimits.memory_bytes
    max_model_seconds: float = Field(
        LoadLimits.seconds,
        ge=1,
        le=3600,
        description="Processor time that the first load of an announced model may take, in a process of its own.",
    )
    waiting_limit: int = Field(
        defaults.WAITING_LIMIT,
        ge=1,
        description="Most events of a journal partition that wait for their application or recourse.",
    )
    snapshots: str | None = Field(
        None,
        min_length=1,
        description="Where snapshots of the ledgers go: a folder, or an fsspec address that every worker can use; "
        "none are taken when absent.",
    )
    snapshot_minutes: float = Field(
        defaults.SNAPSHOT_MINUTES, gt=0, le=10_080, description="How often one is taken of every ledger."
    )
    snapshots_kept: int = Field(3, ge=1, le=100, description="How many are kept of every ledger.")
    journal_days: float | None = Field(
        None,
        gt=0,
        le=36_500,
        description="Age in days from which records of the journal are deleted, behind the oldest snapshot; none are "
        "when absent.",
    )
    archive: str | None = Field(
        None,
        min_length=1,
        description="Where records of the journal are kept before they are deleted: a folder, or an fsspec address "
        "that every worker can use; they are not kept when absent.",
    )
    archive_key_command: ArchiveKeyCommand = None
    web: bool = Field(True, description="Serve /metrics, /healthz and /readyz.")
    web_host: WebHost = "127.0.0.1"
    web_port: int = Field(8080, ge=0, le=65_535, description="Port to serve them on; 0 takes a free one and logs it.")
    log_level: Annotated[LogLevel, BeforeValidator(_lower)] = Field("info", description="Lowest level that is logged.")
    log_format: LogFormat = Field("json", description="JSON lines for machines, text for people.")

    @field_validator("skip")
    @classmethod
    def _are_places(cls, skip: tuple[str, ...]) -> tuple[str, ...]:
        for place in skip:
            if JOURNAL_PLACE.fullmatch(place) is None:
                raise ValueError(f"{place!r}: give PARTITION:OFFSET of a record of the journal, such as 0:17")
        return skip

    @model_validator(mode="after")
    def _cuts_behind_snapshots(self) -> Self:
        _check_archive(self.archive, self.archive_key_command)
        if self.journal_days is None:
            if self.archive is not None:
                raise ValueError("archive needs journal_days: what is never deleted need not be kept elsewhere")
            return self
        if self.snapshots is None:
            raise ValueError("journal_days needs snapshots: without its beginning the journal rebuilds no ledger")
        if self.snapshot_minutes * self.snapshots_kept > self.journal_days * 24 * 60:
            raise ValueError(
                "snapshot_minutes times snapshots_kept is longer than journal_days: take them more often, or keep fewer"
            )
        return self


class ArchiveSettings(BrokerSettings):
    """Settings of commands that read what was cut of the journal."""

    archive: str | None = Field(
        None, min_length=1, description="The workers' --archive, which has what they have cut of the journal."
    )
    archive_key_command: ArchiveKeyCommand = None

    @model_validator(mode="after")
    def _keys_of_an_archive(self) -> Self:
        _check_archive(self.archive, self.archive_key_command)
        return self


class EraseSettings(BrokerSettings):
    """Settings of ``onward erase send``."""

    program: str = Field(pattern=r"^[a-z0-9][a-z0-9._-]{0,62}$", description="Program that is to forget somebody.")
    application: str | None = Field(None, min_length=1, max_length=200, description="One application.")
    applicant: str | None = Field(
        None, min_length=1, max_length=200, description="All that an applicant has sent until now."
    )

    @model_validator(mode="after")
    def _one_person(self) -> Self:
        if (self.application is None) == (self.applicant is None):
            raise ValueError("say who is to be forgotten: give either --application or --applicant")
        return self


class TraceSettings(ArchiveSettings):
    """Settings of ``onward erase verify``."""

    people: CliPositionalArg[Names] = Field(
        (), description="Names, numbers or words that must be gone; without any, a line each from standard input."
    )
    state_dir: Paths = Field((), description="Folders of workers' ledgers; all their files are searched.")
    snapshots: str | None = Field(None, min_length=1, description="Address of the snapshots.")
    bundle: Paths = Field((), description="Folders of models.")
    log: Paths = Field((), description="Logs, and other files or folders that must not hold a name.")
    journal_days: float | None = Field(
        None,
        gt=0,
        le=36_500,
        description="The workers' --journal-days; without it nothing ends what the journal holds.",
    )
    as_json: bool = Field(False, validation_alias="json", description="Print one JSON object instead of lines.")


class EvaluateSettings(ArchiveSettings):
    """Settings of ``onward evaluate``: the policy to evaluate, and the spec of the log."""

    spec: Path = Field(description="Program spec (YAML): one that the program has had in the log.")
    target_spec: Path | None = Field(
        None, description="Spec of the policy to evaluate; it may differ in program and policy only."
    )
    choice: str | None = Field(None, min_length=1, description="Choice to evaluate, with the rest of the log's policy.")
    parameter: Names = Field(
        (), description="Parameters of that choice, NAME=NUMBER; repeat the flag or separate by commas."
    )
    snapshots: str | None = Field(
        None,
        min_length=1,
        description="Where the journal was cut, begin with the oldest good snapshot at this address.",
    )
    as_json: bool = Field(False, validation_alias="json", description="Print one JSON object instead of a table.")

    @model_validator(mode="after")
    def _one_policy(self) -> Self:
        if (self.target_spec is None) == (self.choice is None):
            raise ValueError("give the policy to evaluate: either --target-spec FILE or --choice NAME")
        if self.parameter and self.choice is None:
            raise ValueError("--parameter belongs to --choice: with --target-spec the spec holds the parameters")
        return self


class ReplaySettings(ArchiveSettings):
    """Settings of ``onward replay``: what is folded, and from where."""

    check: bool = Field(False, description="Compare the outputs with those on the topics; replay does nothing else.")
    spec: Paths = Field(min_length=1, description="Program specs (YAML) of the journal's programs.")
    snapshots: str | None = Field(
        None,
        min_length=1,
        description="Begin with the oldest snapshot at this address.",
    )
    from_ledger: Path | None = Field(
        None, description="Begin with copies of the ledgers in this folder, a worker's --state-dir or a backup of one."
    )
    as_json: bool = Field(False, validation_alias="json", description="Print one JSON object instead of lines.")

    @model_validator(mode="after")
    def _checks(self) -> Self:
        if not self.check:
            raise ValueError("give --check: replay compares, and does nothing else")
        if self.snapshots is not None and self.from_ledger is not None:
            raise ValueError("give either --snapshots ADDRESS or --from-ledger FOLDER")
        return self


class WorldSettings(BrokerSettings):
    """A simulated world, and the policies that serve it side by side."""

    world: str = Field("people", min_length=1, description="The world that is played: one of those above.")
    rounds: int = Field(60, ge=1, le=1_000_000, description="Rounds of the competition.")
    horizon: int = Field(1, ge=1, le=1000, description="Rounds of the competition in which rejected people come back.")
    coverage: float = Field(
        0.95, gt=0, lt=1, description="Share of those who reach their target score in the competition that is to win."
    )
    brokers: Names = Field((), description="Kafka brokers, HOST:PORT, comma separated.")
    seed: int = Field(0, ge=0, le=1_000_000_000, description="Another seed is another world: split, people, chance.")
    data: Path | None = Field(None, description="CSV of labelled people; generated people when absent.")
    spec: Path | None = Field(None, description="Program spec of that CSV; the packaged one of its name when absent.")
    policies: Names = Field(
        ("protoar", "linucb"),
        min_length=1,
        description="Choices, one program each; that of --spec serves beside them.",
    )
    approved_share: float = Field(0.1, ge=0, le=1, description="Share of applications that the model approves.")

    people: int = Field(1500, ge=0, description="Applications of every program.")


class DemoSettings(WorldSettings):
    """Settings of ``onward demo``."""

    brokers: Names = Field((), description="Kafka to run on, HOST:PORT, comma separated; an embedded one when absent.")
    policies: Names = Field(
        ("protoar", "linucb", "residual"),
        min_length=1,
        description="Choices, one program each; that of --spec serves beside them.",
    )
    people: int = Field(
        500,
        ge=1,
        le=1_000_000,
        description="Applications of every program; with --world retrained and lender its newcomers, 300 and 250 when "
        "absent.",
    )
    partitions: int = Field(4, ge=1, le=1000, description="Partitions of every topic.")
    replication: int = Field(1, ge=1, le=100, description="Copies of every partition, on a Kafka given by --brokers.")
    as_json: bool = Field(False, validation_alias="json", description="Print one JSON object instead of the tables.")
    report: Path | None = Field(
        None, description="HTML page to write; onward-demo.html when absent, none when absent with --json."
    )
    picture: Path | None = Field(None, description="SVG file to write the live screen to, as it is at the end.")
    keep: Path | None = Field(None, description="New folder to keep programs, ledgers and the worker's log in.")


class SimulateSettings(WorldSettings):
    """Settings of ``onward simulate``."""

    people: int = Field(
        1500,
        ge=0,
        le=100_000_000,
        description="Applications of every program; 0: until stopped; with --world retrained and lender its newcomers, "
        "300 and 250 when absent.",
    )
    rate: float = Field(0, ge=0, le=100_000, description="Most applications a second of every program; 0: no limit.")
    programs: Path | None = Field(
        None,
        description="Write the program folders (spec, model) into this folder and end; a worker needs them. With "
        "--world retrained or lender a second run plays the programs that are there.",
    )
    run_name: str | None = Field(
        None,
        pattern=r"^[a-zA-Z0-9._-]{1,60}$",
        description="Put before every application's id; the time of the start when absent. Not to be used twice.",
    )
    patience_seconds: float = Field(60, gt=0, le=86_400, description="Longest wait for an answer before giving up.")
    web: bool = Field(True, description="Serve /metrics with the mean expected reward, /healthz and /readyz.")
    web_host: WebHost = "127.0.0.1"
    web_port: int = Field(8081, ge=0, le=65_535, description="Port to serve them on; 0 takes a free one.")

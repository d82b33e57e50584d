"""A right that is missing is named before the work begins, and never taken for something else."""

from __future__ import annotations

import asyncio
import dataclasses
import json
from collections.abc import Iterator, Mapping
from concurrent.futures import Future
from types import SimpleNamespace

import msgspec
import pytest
from aiokafka.admin import AIOKafkaAdminClient
from confluent_kafka import KafkaError, KafkaException
from confluent_kafka.admin import (
    AclBinding,
    AclBindingFilter,
    AclOperation,
    AclPermissionType,
    AdminClient,
    ResourcePatternType,
    ResourceType,
)

from onward.schemas.events import Application
from onward.streams.cli import main
from onward.streams.errors import BrokerError
from onward.streams.kafka.admin import rights
from onward.streams.kafka.admin.offsets import PartitionOffsets, partition_offsets
from onward.streams.kafka.admin.preflight import preflight
from onward.streams.kafka.admin.rights import check_rights, worker_rights
from onward.streams.kafka.admin.topics import create_topics
from onward.streams.kafka.client import EventReader, EventWriter
from onward.streams.kafka.consume.between import records_between
from onward.streams.kafka.options import KafkaOptions
from onward.streams.kafka.produce.publisher import KafkaPublisher
from onward.streams.kafka.service import run_service
from onward.streams.settings import WorkerSettings
from onward.streams.topics import Topics, plan
from onward.tests.support.kafka_cluster import KafkaCluster, unavailable
from onward.tests.support.programs import POLICIES, write_programs

TOPICS = Topics()
NEEDED = worker_rights(TOPICS)


def answer(value):
    future: Future[object] = Future()
    if isinstance(value, int):
        future.set_exception(KafkaException(KafkaError(value)))
    else:
        operations = None if value is None else [AclOperation[name] for name in value]
        future.set_result(SimpleNamespace(authorized_operations=operations))
    return future


class StubAdmin:
    """Answers as a broker would. ``topics`` and ``groups`` are operations, None or an error's code."""

    topics: Mapping[str, object] = {}
    groups: Mapping[str, object] = {}

    def __init__(self, *_: object, **__: object) -> None: ...

    def describe_topics(self, collection, **_):
        return {name: answer(self.topics.get(name, ["READ", "WRITE", "DESCRIBE"])) for name in NEEDED}

    def describe_consumer_groups(self, names, **_):
        return {name: answer(self.groups.get(name, ["READ", "DESCRIBE"])) for name in names}


@pytest.fixture
def stub(monkeypatch):
    monkeypatch.setattr(rights, "AdminClient", StubAdmin)
    for kind in ("topics", "groups"):
        monkeypatch.setattr(StubAdmin, kind, {})
    return StubAdmin


async def test_every_missing_right_is_named_at_once(stub, monkeypatch, embedded):
    none, hidden = ["DESCRIBE"], KafkaError.TOPIC_AUTHORIZATION_FAILED
    topics = {"recourse": ["READ"], "rewards": ["READ"], "applications": none, "models": hidden}
    monkeypatch.setattr(stub, "topics", topics)
    monkeypatch.setattr(stub, "groups", {"onward": KafkaError.GROUP_AUTHORIZATION_FAILED})
    options = embedded.options(group="onward")
    with pytest.raises(BrokerError) as raised:
        await check_rights(options, NEEDED, "onward")
    assert str(raised.value) == (
        f"this user may not READ topics applications, models; WRITE topics recourse, rewards; READ group onward on "
        f"{options.bootstrap}: allow it in Kafka's access control lists"
    )


@pytest.mark.parametrize("known", [None, KafkaError.UNKNOWN_TOPIC_OR_PART, KafkaError._UNSUPPORTED_FEATURE])
async def test_a_broker_that_does_not_tell_allows_everything(stub, monkeypatch, embedded, known):
    monkeypatch.setattr(stub, "topics", dict.fromkeys(NEEDED, known))
    monkeypatch.setattr(stub, "groups", {"onward": known})
    await check_rights(embedded.options(group="onward"), NEEDED, "onward")


async def test_a_worker_without_a_right_does_not_start(stub, monkeypatch, embedded, tmp_path):
    monkeypatch.setattr(stub, "topics", {"recourse": ["READ"]})
    [spec] = write_programs(tmp_path, {"steps": POLICIES["steps"]})
    settings = WorkerSettings(
        brokers=(embedded.bootstrap,), spec=(spec,), state_dir=tmp_path / "state", web=False, log_format="text"
    )
    with pytest.raises(BrokerError, match=r"this user may not WRITE topic recourse on "):
        await run_service(settings, signals=False)


async def test_a_topic_that_may_not_be_seen_is_not_said_to_be_missing(embedded, monkeypatch):
    async def describe(self, names):
        return [{"topic": name, "error_code": 29 if name == "hidden" else 3} for name in names]

    monkeypatch.setattr(AIOKafkaAdminClient, "describe_topics", describe)
    with pytest.raises(BrokerError, match="may not DESCRIBE topics hidden on") as raised:
        await preflight(embedded.options(), ["hidden", "missing"])
    assert "create" not in str(raised.value)


# --- on a real Kafka --------------------------------------------------------------------------------------------------

USERS = 'username="broker" password="b" user_broker="b" user_onward="hunter2"'
SETTINGS = {
    "listener.security.protocol.map": "PLAINTEXT:SASL_PLAINTEXT,CONTROLLER:PLAINTEXT",
    "inter.broker.listener.name": "PLAINTEXT",
    "sasl.mechanism.inter.broker.protocol": "PLAIN",
    "sasl.enabled.mechanisms": "PLAIN",
    "listener.name.plaintext.plain.sasl.jaas.config": (
        f"org.apache.kafka.common.security.plain.PlainLoginModule required {USERS};"
    ),
    "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
    "super.users": "User:broker;User:ANONYMOUS",
}


@pytest.fixture(scope="module")
def owner(tmp_path_factory: pytest.TempPathFactory) -> Iterator[KafkaOptions]:
    """A user who may do everything, on a Kafka with an authorizer and Onward's topics."""
    if reason := unavailable():
        pytest.skip(reason)
    with KafkaCluster(tmp_path_factory.mktemp("acl"), settings=SETTINGS) as cluster:
        options = KafkaOptions(
            brokers=(cluster.bootstrap,),
            security_protocol="SASL_PLAINTEXT",
            sasl_mechanism="PLAIN",
            sasl_username="broker",
            sasl_password="b",
            connect_timeout_ms=5000,
        )
        create_topics(options, plan(TOPICS, 1, 1))
        yield options


@pytest.fixture
def user(owner: KafkaOptions) -> Iterator[KafkaOptions]:
    """A user who may do nothing yet."""
    yield dataclasses.replace(owner, sasl_username="onward", sasl_password="hunter2")
    root = AdminClient(owner.confluent())
    for future in root.delete_acls([_rule(ResourceType.ANY, None, AclOperation.ANY, delete=True)]).values():
        future.result()


def _rule(kind, name, operation, delete=False):
    permission = AclPermissionType.ANY if delete else AclPermissionType.ALLOW
    pattern = ResourcePatternType.ANY if delete else ResourcePatternType.LITERAL
    rule = AclBindingFilter if delete else AclBinding
    return rule(kind, name, pattern, "User:onward", None if delete else "*", operation, permission)


async def allow(owner, user, topics, group=None):
    """Return when the broker goes by these rules."""
    rules = [_rule(ResourceType.TOPIC, name, AclOperation[one]) for name, some in topics.items() for one in some]
    rules += [] if group is None else [_rule(ResourceType.GROUP, group, AclOperation.READ)]
    root = AdminClient(owner.confluent())
    for future in root.create_acls(rules).values() if rules else ():
        future.result()
    for _ in range(100):
        granted, of_group = await asyncio.to_thread(rights._granted, user, list(topics), group or "none")
        if not [*rights._refusals("", topics, granted), *rights._refusals("", {group: ("READ",)}, of_group)]:
            return
        await asyncio.sleep(0.1)
    raise AssertionError(topics)


@pytest.mark.kafka
async def test_a_worker_with_the_rights_that_are_asked_for_answers(owner, user, tmp_path):
    await allow(owner, user, {**NEEDED, "recourse": ("READ",)}, "onward")
    [spec] = write_programs(tmp_path, {"steps": POLICIES["steps"]})
    settings = WorkerSettings(
        brokers=user.brokers,
        spec=(spec,),
        state_dir=tmp_path / "state",
        web=False,
        security_protocol="SASL_PLAINTEXT",
        sasl_mechanism="PLAIN",
        sasl_username="onward",
        sasl_password="hunter2",
    )
    with pytest.raises(BrokerError, match="this user may not WRITE topic recourse on "):
        await run_service(settings, signals=False)
    await allow(owner, user, {"recourse": ("WRITE",)})
    stop = asyncio.Event()
    running = asyncio.create_task(run_service(settings, signals=False, stop=stop))
    person = Application("steps", "ada", {"region": "north", "income": 1.0, "debts": 0})
    with EventWriter(owner) as writer:
        writer.send("applications", msgspec.json.encode(person), headers=[("ce_id", b"1")])
    told = []
    with EventReader(owner, ["recourse"]) as reader:
        while not told and not running.done():
            told += await asyncio.to_thread(reader.poll, 0.5)
    stop.set()
    await running
    assert json.loads(told[0].value)["application"] == "ada"


@pytest.mark.kafka
async def test_a_refused_right_is_named_by_every_client(owner, user):
    for attempt in (
        lambda: partition_offsets(user, ["recourse"]),
        lambda: EventReader(user, ["recourse"]),
    ):
        with pytest.raises(BrokerError, match="this user may not READ topic recourse") as raised:
            attempt()
        assert "create" not in str(raised.value)
    with pytest.raises(BrokerError, match="may not DESCRIBE topics recourse"):
        await preflight(user, ["recourse"])
    await allow(owner, user, {"recourse": ("DESCRIBE",)})
    between = PartitionOffsets("recourse", 0, 0, 1, None)
    with pytest.raises(BrokerError, match="this user may not READ topic recourse"):
        await asyncio.to_thread(lambda: list(records_between(user, [between], lambda _: None)))
    await allow(owner, user, {"recourse": ("READ",), "journal": ("WRITE",)})
    with pytest.raises(BrokerError, match="this user may not DESCRIBE group onward"):
        partition_offsets(user, ["recourse"], of_group=True)
    async with KafkaPublisher(user) as publisher:
        with pytest.raises(BrokerError, match="this user may not DESCRIBE topic rewards"):
            await publisher.partitions("rewards")


PLANNED = ("--partitions", "1", "--replication", "1")
MODEL = ("--manifest", "steps-v1/manifest.json")
ALL = ", ".join(NEEDED)
COMMANDS = {
    "topics create": ((), ["topics", "create", *PLANNED], f"CREATE topics {ALL}"),
    "topics check": ((), ["topics", "check", *PLANNED], f"DESCRIBE topics {', '.join(sorted(NEEDED))}"),
    "settings": (("DESCRIBE",), ["topics", "check", *PLANNED], f"DESCRIBE_CONFIGS topics {ALL}"),
    "models announce": (("DESCRIBE",), ["models", "announce", *MODEL], "WRITE topic models"),
    "simulate": ((), ["simulate", "--people", "5"], "READ topic recourse"),
    "simulate, reading": (("DESCRIBE",), ["simulate", "--people", "5"], "READ topic recourse"),
    "simulate, writing": (("READ",), ["simulate", "--people", "5"], "WRITE topic applications"),
    "dead-letters list": ((), ["dead-letters", "list"], "READ topic dead-letters"),
    "show": ((), ["show", "ada"], "READ topic recourse"),
    "status": ((), ["status"], "READ topic applications"),
}  # fmt: skip
"""What a user may do with all topics, a command, and the right that it lacks."""


@pytest.mark.kafka
@pytest.mark.parametrize(("allowed", "command", "lacks"), COMMANDS.values(), ids=COMMANDS)
def test_a_command_names_the_right_that_it_lacks(owner, user, tmp_path, monkeypatch, capsys, allowed, command, lacks):
    asyncio.run(allow(owner, user, dict.fromkeys(NEEDED, allowed)))
    monkeypatch.chdir(tmp_path)
    write_programs(tmp_path, {"steps": POLICIES["steps"]})
    code, told = main([*command, *_signs_in(user)]), capsys.readouterr().err.splitlines()[-1]
    assert told == f"onward: this user may not {lacks} on {user.bootstrap}: allow it in Kafka's access control lists"
    assert code == 3


def _signs_in(user):
    sasl = ["--security-protocol", "SASL_PLAINTEXT", "--sasl-mechanism", "PLAIN"]
    return ["--brokers", user.bootstrap, *sasl, "--sasl-username", "onward", "--sasl-password", "hunter2"]


@pytest.mark.kafka
def test_what_only_reads_needs_no_right_to_a_group(owner, user, capsys):
    asyncio.run(allow(owner, user, dict.fromkeys(NEEDED, ("READ",))))
    assert main(["dead-letters", "list", *_signs_in(user)]) == 0
    assert main(["show", "nobody", *_signs_in(user)]) == 1
    assert "nothing is known of application 'nobody'" in capsys.readouterr().err
    assert main(["status", *_signs_in(user)]) == 3
    assert "this user may not DESCRIBE group onward" in capsys.readouterr().err


@pytest.mark.kafka
async def test_who_reads_without_a_group_needs_no_right_to_one(owner, user):
    with EventWriter(owner) as writer:
        writer.send("rewards", b"1")
    await allow(owner, user, {"rewards": ("READ",)})
    with EventReader(user, ["rewards"]) as reader:
        read = []
        while not read:
            read = await asyncio.to_thread(reader.poll, 1.0)
    assert [record.value for record in read] == [b"1"]


@pytest.mark.kafka
async def test_who_may_write_elsewhere_is_told_which_topic_they_may_not_write(owner, user):
    await allow(owner, user, {"recourse": ("WRITE",)})
    with pytest.raises(BrokerError, match="this user may not WRITE topic rewards on"), EventWriter(user) as writer:
        writer.send("rewards", b"1")

"""The workers of a group, and the partitions that each of them reads (blocking; joins no group)."""

from __future__ import annotations

from typing import Any, NamedTuple

from confluent_kafka import KafkaError, KafkaException
from confluent_kafka.admin import AdminClient

from ..options import CLIENT_ID, KafkaOptions
from .metadata import unreachable
from .rights import client_log, is_refusal, may_not

_ID_CHARACTERS = 8
"""The first characters of a member's id, which no other member of a machine has by chance."""


class GroupMember(NamedTuple):
    """A worker of the group, and the partitions (topic, number) that are assigned to it.

    It is named by its group instance id; else by its machine's address, and the beginning of the id that the group gave
    it.
    """

    name: str
    partitions: frozenset[tuple[str, int]]


def members(options: KafkaOptions) -> list[GroupMember]:
    """The members of the group by name; none where the broker does not tell.

    Raise ``BrokerError`` when Kafka does not answer, or does not let this user know of the group.
    """
    admin = AdminClient(options.confluent(), logger=client_log)
    asked = admin.describe_consumer_groups([options.group], request_timeout=options.connect_timeout_ms / 1000)
    try:
        described = asked[options.group].result()
    except KafkaException as error:
        code = error.args[0].code()
        if code in (KafkaError._UNSUPPORTED_FEATURE, KafkaError.GROUP_ID_NOT_FOUND):
            return []
        if is_refusal(error.args[0]):
            raise may_not(options, "DESCRIBE", f"group {options.group}") from error
        raise unreachable(options, error.args[0].str()) from error
    found = (
        GroupMember(_name(described_member), frozenset((at.topic, at.partition) for at in _assigned(described_member)))
        for described_member in described.members
    )
    return sorted(found, key=lambda member: member.name)


def _assigned(member: Any) -> Any:
    return member.assignment.topic_partitions if member.assignment else ()


def _name(member: Any) -> str:
    if member.group_instance_id:
        return str(member.group_instance_id)
    member_id = str(member.member_id).removeprefix(f"{CLIENT_ID}-")[:_ID_CHARACTERS]
    return f"{str(member.host).removeprefix('/')} {member_id}"

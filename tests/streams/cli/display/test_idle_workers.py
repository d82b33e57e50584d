import pytest

from onward.streams.cli.display.idle_workers import IdleWorker, idle_workers
from onward.streams.kafka.admin.offsets import PartitionOffsets
from onward.streams.kafka.admin.owners import GroupMember
from onward.streams.topics import Topics

TOPICS = Topics("eu.")


def member(name: str, *journal: int) -> GroupMember:
    return GroupMember(name, frozenset({("eu.applications", 0), *(("eu.journal", number) for number in journal)}))


def ends(*partitions: int, topic: str = "eu.recourse") -> list[PartitionOffsets]:
    """Three partitions of a topic, of which these have a record."""
    return [PartitionOffsets(topic, number, 0, int(number in partitions), None) for number in range(3)]


@pytest.mark.parametrize(
    ("of_a", "of_b", "answered", "idle"),
    [
        ((0, 1), (2,), [0], ["b"]),
        ((0, 1), (2,), [1, 2], []),
        ((0, 1, 2), (), [0], ["b"]),
        ((0, 1, 2), (), [], ["b"]),
        ((0, 1), (2,), [], []),
        ((), (), [0], []),
    ],
)
def test_a_worker_is_idle_without_a_partition_and_where_others_answer_and_it_never_did(
    of_a: tuple[int, ...], of_b: tuple[int, ...], answered: list[int], idle: list[str]
) -> None:
    offsets = [*ends(*answered), *ends(0, 1, 2, topic="eu.journal"), *ends(2, topic="eu.dead-letters")]
    found = idle_workers([member("a", *of_a), member("b", *of_b)], offsets, TOPICS)
    assert [worker.name for worker in found] == idle


def test_a_name_is_text_in_its_line() -> None:
    line = str(IdleWorker("pod\x1b[2J", (0, 2)))
    assert line.startswith(
        "worker pod\\x1b[2J answers nobody: nothing was ever answered from its journal partitions 0, 2,"
    )

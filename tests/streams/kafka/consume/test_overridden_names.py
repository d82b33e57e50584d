"""What is overridden of Faust and aiokafka is there, and stands in docs/reference/faust.md with its reason."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import faust
import pytest
from aiokafka.consumer import fetcher
from aiokafka.consumer.group_coordinator import GroupCoordinator
from faust.transport.drivers import aiokafka as driver

from onward.streams.kafka.consume import worker
from onward.streams.kafka.consume.consumer_thread import ConsumerThread
from onward.streams.kafka.consume.group_consumer import GroupConsumer
from onward.streams.kafka.consume.transport import ChunkConsumer, ChunkTransport

PAGE = Path(__file__).parents[4] / "docs" / "reference" / "faust.md"
OURS = {
    ChunkTransport: driver.Transport,
    ChunkConsumer: driver.Consumer,
    GroupConsumer: driver.Consumer,
    ConsumerThread: driver.AIOKafkaConsumerThread,
    worker._App: faust.App,
    worker._Boot: worker.BootStrategy,
    worker._NoTables: worker.TableManager,
    worker._Chunks: faust.Schema,
}
"""Our classes, and what they inherit from Faust."""
THEIRS = {
    "consumer.fetcher, in the whole process": fetcher,
    "group coordinator": GroupCoordinator,
    "fetcher": fetcher.Fetcher,
}


def rows() -> dict[str, set[str]]:
    """The names of the page, by class."""
    found: dict[str, set[str]] = {}
    for owner, names, why in re.findall(r"^\| ([^|]+) \| (`[^|]+) \| ([^|]+) \|$", PAGE.read_text(), re.MULTILINE):
        assert why
        found.setdefault(owner.replace("`", ""), set()).update(re.findall(r"`(\w+)`", names))
    return found


def overridden(ours: type, theirs: type) -> Iterator[str]:
    """The names of Faust that a class of ours has for itself."""
    inherited = {name for base in theirs.__mro__ if base is not object for name in vars(base)}
    for name in vars(ours).keys() & inherited:
        if not name.startswith("__") and name not in ("logger", "_abc_impl"):
            yield name


@pytest.mark.parametrize("ours", OURS, ids=lambda ours: ours.__name__)
def test_a_class_overrides_what_the_page_says_and_no_more(ours: type) -> None:
    assert set(overridden(ours, OURS[ours])) == rows()[ours.__name__]


@pytest.mark.parametrize("title", THEIRS)
def test_what_is_replaced_in_aiokafka_is_there(title: str) -> None:
    source = Path(fetcher.__file__).read_text()
    names = rows()[title]
    assert all(hasattr(THEIRS[title], name) or f"self.{name} = " in source for name in names), names

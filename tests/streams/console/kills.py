"""A console that is killed again and again while it reads what a world has left on its topics, and people choose."""

from __future__ import annotations

import asyncio
import json
import random
import re
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import aiohttp
import msgspec
from confluent_kafka.admin import AdminClient

from onward.schemas.spec import ProgramSpec
from onward.schemas.words.texts import guessed_feature
from onward.schemas.yamltree import YamlDocument
from onward.streams.console.case_store import FILE
from onward.streams.console.handles import keys_of
from onward.streams.console.links import Links
from onward.streams.kafka.admin.offsets import partition_offsets
from onward.streams.kafka.client import EventWriter
from onward.streams.kafka.consume.between import records_between
from onward.streams.kafka.embedded import EmbeddedBroker
from onward.streams.records import Record, TopicPartition
from onward.streams.topics import Topics
from onward.tests.streams.console.sites import ORGANISATION, SAME_ORIGIN

MOST_WAIT_SECONDS = 0.1
"""How long after records were written a kill may come: about as long as they are read."""
READ = "SELECT topic, partition, next FROM partitions"
UNSENT = "SELECT 1 FROM outbox WHERE sent = 0"
LONGEST_RUN = 40
"""Of records of one partition before those of another come."""
TRIED = 3
"""How many people may choose something before each kill."""

Logs = Mapping[TopicPartition, Sequence[Record]]


class World(NamedTuple):
    """What a world has left: its topics, their records, and its specs, with words."""

    topics: Topics
    logs: Logs
    specs: Sequence[Path]


@dataclass
class Killed:
    """What has come of a console: how many records each kill left unread, and what was chosen.

    A choice is a handle, an option and a question; those that are only ``tried`` were not answered before a kill.
    """

    unread: list[int] = field(default_factory=list)
    chosen: list[tuple[str, str | None, int | None]] = field(default_factory=list)
    tried: set[str] = field(default_factory=set)
    told: dict[tuple[str, str], Any] = field(default_factory=dict)


def demo_world(name: str, folder: Path, *flags: str) -> World:
    """Let ``onward demo`` play a world, and keep what its topics hold."""
    with EmbeddedBroker() as broker:
        command = [sys.executable, "-P", "-m", "onward", "demo", "--world", name, "--brokers", broker.bootstrap]
        subprocess.run([*command, "--json", "--keep", str(folder), *flags], check=True, capture_output=True)
        names = list(AdminClient(broker.options().confluent()).list_topics().topics)
        topics = Topics(prefix=next(one for one in names if one.endswith(".journal")).removesuffix("journal"))
        offsets = partition_offsets(broker.options(), names)
        assert not any(one.begin for one in offsets), "the embedded broker has lost records"
        logs: dict[TopicPartition, list[Record]] = {TopicPartition(one.topic, one.partition): [] for one in offsets}
        for record in records_between(broker.options(), offsets, lambda _: None):
            logs[TopicPartition(record.topic, record.partition)].append(record)
    return World(topics, logs, [with_words(path) for path in sorted((folder / "programs").glob("*/spec.yaml"))])


def with_words(path: Path) -> Path:
    """A spec whose pages can be served: words that it lacks are guessed."""
    document = YamlDocument(path.read_bytes()).value
    spec = msgspec.convert(document, ProgramSpec)
    if not spec.words:
        given = {
            "organisation": msgspec.to_builtins(ORGANISATION),
            "program": {"name": spec.program, "applied": "your application"},
            "features": {one.name: msgspec.to_builtins(guessed_feature(one)) for one in spec.features},
        }
        (path.parent / "words").mkdir()
        (path.parent / "words" / "en.yaml").write_bytes(msgspec.json.encode(given))
        path.write_bytes(msgspec.json.encode({**document, "words": "words"}))
    return path


class KilledConsole:
    """A console as users start it, beside a broker to which the records of a world come in a random order."""

    def __init__(self, world: World, broker: EmbeddedBroker, folder: Path, seed: int) -> None:
        self.world, self.broker, self.folder = world, broker, folder
        self._dice, self._left = random.Random(seed), {at: list(log) for at, log in world.logs.items() if log}
        self._written: dict[TopicPartition, int] = dict.fromkeys(self._left, 0)
        self._read = {*world.topics.outputs, world.topics.journal}
        for topic in {at.topic for at in world.logs} | {*world.topics.inputs, *self._read}:
            broker.create_topic(topic, 1 + max((at.partition for at in world.logs if at.topic == topic), default=0))

    async def run(self, kills: int, cases: Sequence[tuple[str, str]]) -> Killed:
        """Kill it so often, then let it read everything; return what it then tells of cases."""
        result = Killed()
        many = 1 + sum(map(len, self._left.values())) // kills
        for number in range(kills):
            with self._serving() as (people, _):
                await asyncio.to_thread(self._is_done)
                await self._choose(people, result)
                self._write(many)
                choosing = asyncio.create_task(self._choose(people, result))
                # Every other time before anything can be read.
                await asyncio.sleep(self._dice.uniform(0, MOST_WAIT_SECONDS) if number % 2 else 0)
            with suppress(aiohttp.ClientError):
                await choosing
            result.unread.append(sum(self._unread().values()))
        self._write(sum(map(len, self._left.values())))
        with self._serving() as (people, office):
            await asyncio.to_thread(self._is_done)
            await self._choose(people, result)
            await asyncio.to_thread(self._is_done)
            result.told = await self._told(office, cases)
        return result

    @contextmanager
    def _serving(self) -> Iterator[tuple[str, str]]:
        """Start it; yield the addresses of both sites. At the end it is killed."""
        command = [sys.executable, "-P", "-m", "onward", "console", "serve", "--brokers", self.broker.bootstrap]
        command += [f"--spec={path}" for path in self.world.specs] + ["--topic-prefix", self.world.topics.prefix]
        command += ["--state-dir", str(self.folder), "--port", "0", "--office-port", "0"]
        with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as process:
            assert process.stdout is not None
            try:
                people, office = (process.stdout.readline().split()[1] for _ in range(2))
                yield people, office
            finally:
                process.send_signal(signal.SIGKILL)

    def _write(self, many: int) -> None:
        """Write some of the records that are left, those of each partition in their order."""
        with EventWriter(self.broker.options()) as writer:
            while many > 0 and self._left:
                at = self._dice.choice(sorted(self._left))
                log = self._left[at]
                for record in log[: self._dice.randint(1, min(LONGEST_RUN, many))]:
                    given: dict[str, Any] = {"timestamp_ms": record.timestamp_ms, "partition": at.partition}
                    writer.send(at.topic, record.value or b"", key=record.key, headers=record.headers, **given)
                    self._written[at] = record.offset + 1
                    many -= 1
                self._left[at] = log = [one for one in log if one.offset >= self._written[at]]
                if not log:
                    del self._left[at]

    async def _choose(self, people: str, result: Killed) -> None:
        """Let some people choose on their pages what these offer."""
        links = Links(keys_of(self.folder))
        found = self._rows("SELECT handle FROM cases WHERE application IS NOT NULL AND queue IS NOT NULL")
        handles = sorted({handle for (handle,) in found} - result.tried)
        for handle in self._dice.sample(handles, min(TRIED, len(handles))):
            jar = aiohttp.CookieJar(unsafe=True, treat_as_secure_origin=aiohttp.client.URL(people))
            async with aiohttp.ClientSession(people, cookie_jar=jar, headers=SAME_ORIGIN) as session:
                async with session.post(f"/l/{links.token(handle, 1)}") as response:
                    page = await response.text()
                options = sorted({*re.findall(r'name="option"[^>]* value="([^"]*)"', page)})
                if not options:
                    continue
                form = dict(re.findall(r'type="hidden" name="(once|question)" value="([^"]*)"', page))
                result.tried.add(handle)
                option = self._dice.choice(options)
                async with session.post(
                    "/you/answer", data=form | {"option": option}, allow_redirects=False
                ) as response:
                    assert response.headers["Location"] == "/you", "it is taken"
                result.chosen.append((handle, option or None, int(form["question"]) if "question" in form else None))

    async def _told(self, office: str, cases: Sequence[tuple[str, str]]) -> dict[tuple[str, str], Any]:
        """``KEY.json`` of each case; None where there is none."""
        keys, told = keys_of(self.folder), {}
        async with aiohttp.ClientSession(office) as session:
            for case in cases:
                async with session.get(f"/cases/{keys.handle(*case)}.json") as response:
                    told[case] = json.loads(await response.text()) if response.status == 200 else None
        return told

    def _is_done(self) -> None:
        while any(self._unread().values()) or self._rows(UNSENT):
            time.sleep(0.1)

    def _unread(self) -> dict[TopicPartition, int]:
        """How many records of each partition are written and not read."""
        read = {TopicPartition(*at): number for *at, number in self._rows(READ)}
        return {at: end - read.get(at, 0) for at, end in self._written.items() if at.topic in self._read}

    def _rows(self, sql: str) -> list[Any]:
        with closing(sqlite3.connect(f"{(self.folder / FILE).as_uri()}?mode=ro", uri=True)) as db:
            return db.execute(sql).fetchall()

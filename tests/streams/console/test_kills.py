"""A console that was killed while it read tells what ``onward show`` tells, and loses and repeats no choice."""

from __future__ import annotations

import asyncio
import json
import random
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec
import pytest

from onward.environments.registry import registry
from onward.schemas.events import Application
from onward.streams.cli import main
from onward.streams.console.handles import keys_of
from onward.streams.journal.lines import read_lines
from onward.streams.kafka.admin.offsets import partition_offsets
from onward.streams.kafka.consume.between import records_between
from onward.streams.kafka.embedded import EmbeddedBroker
from onward.streams.outputs.decoder import EventDecoder
from onward.streams.printed_json import json_text
from onward.streams.records import TopicPartition
from onward.streams.replay.history import History
from onward.streams.replay.shown import shown_program
from onward.testing.pipeline import START_MS
from onward.testing.tape import RICH
from onward.tests.streams.console.kills import TRIED, Killed, KilledConsole, World, demo_world, with_words
from onward.tests.streams.console.test_case_store import external

CASES, KILLS, BY_COMMAND = 200, 20, 3


def cases_of(world: World) -> list[tuple[str, str]]:
    """The program and name of everybody who has applied."""
    decoder = EventDecoder(world.topics)
    log = [record for (topic, _), log in world.logs.items() if topic == world.topics.journal for record in log]
    events = [json.loads(bytes(line.data)) for record in log for line in read_lines(record)]
    events += [
        {"program": event.event.program, "application": event.event.application}
        for (topic, _), log in world.logs.items()
        if topic == world.topics.applications
        for record in log
        if (event := decoder.read(record)) is not None
    ]
    named = {(event.get("program"), event.get("application")) for event in events}
    return sorted((program, name) for program, name in named if program and name)


def read_part(shown: Mapping[str, Any] | None) -> Mapping[str, Any] | None:
    """What is told of a program but for inputs that were refused, or that no worker has read."""
    if shown is None:
        return None
    events = [event for event in shown["events"] if event["was_read"] and not event["refused"]]
    return {**shown, "events": events} if events else None


def shown_by_topics(world: World, broker: EmbeddedBroker, cases: Sequence[tuple[str, str]]) -> dict[Any, Any]:
    """What ``onward show --json`` tells of each case, from one reading of the topics."""
    offsets = partition_offsets(broker.options(), [*world.topics.outputs, world.topics.journal, *world.topics.inputs])
    records = list(records_between(broker.options(), offsets, lambda _: None))
    shown = {}
    for program, name in cases:
        history = History(name, program, world.topics)
        for record in records:
            history.feed(record)
        own = [one for one in history.happenings if one.program == program]
        shown[program, name] = json.loads(json_text(shown_program(program, own))) if own else None
    return shown


def check(world: World, folder: Path, *, kills: int, cases: int, capsys: pytest.CaptureFixture[str]) -> Killed:
    """Kill a console while it reads a world, and compare what it tells with what the topics tell."""
    some = random.Random(1).sample(cases_of(world), min(cases, len(cases_of(world))))
    with EmbeddedBroker() as broker:
        killed = asyncio.run(KilledConsole(world, broker, folder, 1).run(kills, some))
        shown = shown_by_topics(world, broker, some)
        for program, name in some[:BY_COMMAND]:
            flags = ["--topic-prefix", world.topics.prefix, "--brokers", broker.bootstrap, "--program", program]
            assert main(["show", name, "--json", *flags]) == 0
            programs = {one["program"]: one for one in json.loads(capsys.readouterr().out)["programs"]}
            assert programs[program] == shown[program, name]
        sent = answers(world, broker)
    different = [case for case in some if read_part(killed.told[case]) != read_part(shown[case])]
    assert not different, (killed.told[different[0]], shown[different[0]])
    names = {keys_of(folder).handle(*case): case for case in cases_of(world)}
    counts = Counter(sent) - Counter(answers_of(world))
    assert all(counts[(*names[handle], option, question)] == 1 for handle, option, question in killed.chosen)
    assert set(counts.values()) <= {1}
    assert {(program, name) for program, name, *_ in counts} <= {names[handle] for handle in killed.tried}
    return killed


def answers(world: World, broker: EmbeddedBroker) -> list[Any]:
    """All answers that stand on their topic."""
    records = records_between(
        broker.options(), partition_offsets(broker.options(), [world.topics.answers]), lambda _: 0
    )
    return [_answer(record.value) for record in records]


def answers_of(world: World) -> list[Any]:
    """The answers that the world had sent."""
    return [_answer(one.value) for at, log in world.logs.items() if at.topic == world.topics.answers for one in log]


def _answer(value: bytes | None) -> Any:
    event = json.loads(value or b"")
    return event["program"], event["application"], event.get("option"), event.get("question")


def test_a_console_that_was_killed_tells_what_show_tells(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    # A served console knows the time: choices count as long as the window is open.
    story, _ = external(tmp_path, {"time": "P36500D", "lateness": "PT5M"})
    for number in range(60):
        story.applies(f"p{number}", number)
        story.decides(f"p{number}", number + 1)
    story.send("applications", Application("loan", "p1", dict(RICH), "somebody else"), 70, "not-theirs")
    for number, text in enumerate((b"p2", b'{"application": "p2"}', b'{"program": 1, "application": "p2"}')):
        record = story.sender.record("outcomes", None, time_ms=START_MS + 80, id=f"broken-{number}", raw=text)
        asyncio.run(story.run.ingest([record]))
    story.fold("later")
    logs = {TopicPartition(*at): list(log) for at, log in story.run.broker.logs.items()}
    (tmp_path / "spec").mkdir()
    (tmp_path / "spec" / "spec.yaml").write_bytes(msgspec.json.encode(story.run.programs["loan"].spec))
    world = World(story.run.topics, logs, [with_words(tmp_path / "spec" / "spec.yaml")])
    killed = check(world, tmp_path / "console", kills=4, cases=CASES, capsys=capsys)
    assert any(killed.unread)
    assert len(killed.chosen) > TRIED, "some before a kill"


@pytest.mark.slow
@pytest.mark.parametrize("name", sorted(registry))
def test_it_does_in_every_world(name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    world = demo_world(
        name, tmp_path / "demo", "--people", "250", *(["--policies", "protoar"] if name == "people" else [])
    )
    killed = check(world, tmp_path / "console", kills=KILLS, cases=CASES, capsys=capsys)
    with capsys.disabled():
        print(f"\n{name}: records left unread by the kills {killed.unread}, {len(killed.chosen)} choices")
    assert any(killed.unread)

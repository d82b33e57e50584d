"""The pages of a demo: the console beside the worker, one more person who applies, and links for three people."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

import msgspec
from yarl import URL

from ....schemas.events import Application, NoRecourse, Recourse
from ....schemas.headers import cloud_event_headers
from ....schemas.kinds import kinds
from ...console.handles import keys_of
from ...console.links import Links
from ...kafka.client import EventReader, EventWriter
from ...kafka.options import KafkaOptions
from ...settings import BrokerSettings
from ...topics import Topics
from .worker_process import WorkerProcess

STATE = "console"
LINK_DAYS = 1
LOOK_SECONDS = 0.1
NEWCOMER = "one-more"
SOURCE = "demo"
ADDRESSES = ("applicants ", "office ")
"""How the lines of the console begin that say where its sites are."""


class Visited(NamedTuple):
    """Somebody whose page is worth a look."""

    who: str
    program: str
    application: str


@contextmanager
def served_pages(settings: BrokerSettings, specs: Iterable[Path], work: Path) -> Iterator[tuple[URL, URL]]:
    """The console of these programs as a process; yields where applicants and the office see it."""
    flags = [flag for spec in specs for flag in ("--spec", str(spec))]
    flags += ["--state-dir", str(work / STATE), "--port", "0", "--office-port", "0", "--simulated"]
    with WorkerProcess(settings, flags, work / "console.log", command=("console", "serve")) as console:
        found: list[str] = []
        while len(found) < len(ADDRESSES):
            console.check()
            time.sleep(LOOK_SECONDS)
            lines = (work / "console.log").read_text(encoding="utf-8").splitlines()
            found = [line.split()[1] for line in lines if line.startswith(ADDRESSES)]
        yield URL(found[0]), URL(found[1])
        console.stop()


def one_more(options: KafkaOptions, topics: Topics, recourses: Sequence[Recourse]) -> Visited | None:
    """Let one more person apply, who is like one of those with a recourse; None where there is none."""
    told, kind = {(recourse.program, recourse.application) for recourse in recourses}, kinds["application"]
    like: Application | None = None
    with EventReader(options, [topics.applications]) as reader:
        while like is None and not reader.caught_up:
            applied = (kind.decode(record.value or b"") for record in reader.poll(LOOK_SECONDS))
            like = next((event for event in applied if (event.program, event.application) in told), None)
    if like is None:
        return None
    event = Application(like.program, NEWCOMER, like.features, NEWCOMER)
    headers = cloud_event_headers(f"{SOURCE}/{NEWCOMER}", SOURCE, kind.ce_type, time.time_ns() // 1_000_000)
    with EventWriter(options) as writer:
        writer.send(topics.applications, msgspec.json.encode(event), key=NEWCOMER.encode(), headers=headers)
    return Visited("somebody who has just applied", event.program, NEWCOMER)


def worth_a_look(recourses: Sequence[Recourse], none: Sequence[NoRecourse]) -> Iterator[Visited]:
    """Who has the most ways, and who has none, or the last one with a way."""
    if recourses:
        most = max(recourses, key=lambda recourse: len(recourse.options))
        yield Visited("somebody with ways forward", most.program, most.application)
    if none:
        yield Visited("somebody without a way", none[-1].program, none[-1].application)
    elif len(recourses) > 1:
        yield Visited("somebody else with a way", recourses[-1].program, recourses[-1].application)


def links_to(people: Iterable[Visited], work: Path, address: URL) -> Iterator[str]:
    """A line for each person, with the link to their page."""
    keys = keys_of(work / STATE)
    links = Links(keys)
    for person in people:
        token = links.token(keys.handle(person.program, person.application), LINK_DAYS)
        yield f"{person.who}: {address / 'l' / token}"

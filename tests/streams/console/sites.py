"""Consoles: one without Kafka, and one beside a broker as users start it."""

from __future__ import annotations

import signal
import sqlite3
import subprocess
import sys
from collections.abc import AsyncIterator, Iterable, Iterator, Mapping
from contextlib import asynccontextmanager, closing, contextmanager, suppress
from pathlib import Path
from typing import Any

from aiohttp import CookieJar, web
from aiohttp.test_utils import TestClient, TestServer
from msgspec.structs import replace
from yarl import URL

from onward.schemas.events import Answer
from onward.schemas.spec import ProgramSpec
from onward.schemas.specfile import LoadedSpec
from onward.schemas.words.form import FeatureWords, LanguageWords, Organisation, ProgramWords, ValueKind
from onward.streams.console.applicants import ApplicantPages
from onward.streams.console.case_store import FILE, CaseStore
from onward.streams.console.cases import Cases
from onward.streams.console.desk import Desk
from onward.streams.console.handles import Keys
from onward.streams.console.links import Links
from onward.streams.console.looks import Looks
from onward.streams.console.office import Office
from onward.streams.console.outbox import Outbox
from onward.streams.console.pages import Pages
from onward.streams.console.programmes import Programmes
from onward.streams.console.programs import console_programs
from onward.streams.console.who import OpenGate, SignInGate
from onward.streams.errors import LedgerError
from onward.streams.kafka.embedded import EmbeddedBroker
from onward.streams.topics import Topics
from onward.testing.pipeline import START_MS
from onward.testing.tape import Tape

KEYS = Keys(["a secret"])
SAME_ORIGIN = {"Sec-Fetch-Site": "same-origin"}
ORGANISATION = Organisation("Bank", "Bank, 1 Square.", "https://bank.example/ask", "https://bank.example/apply")


def words(income: str, debts: str) -> LanguageWords:
    features = {
        "income": FeatureWords(income, up="earn more", value=ValueKind(money="EUR", times=1000)),
        "debts": FeatureWords(debts, down="owe less"),
    }
    return LanguageWords(features, ORGANISATION, ProgramWords("Loan", "your application"))


WORDS = {"en": words("Your income", "Your debts"), "ar": words("دخلك", "ديونك")}


class Console:
    """The parts of a console for some programs, which reads the records that it is given."""

    def __init__(self, topics: Topics, specs: Iterable[ProgramSpec], folder: Path) -> None:
        self.folder = folder
        self.store = CaseStore(folder, topics, KEYS)
        self.cases, self.outbox, self.looks = (
            Cases(folder, KEYS),
            Outbox(folder, topics),
            Looks(folder, lambda: self.clock),
        )
        self.clock = START_MS / 1000 + 600
        self.links = Links(KEYS, lambda: self.clock)
        self.woken = 0
        self.programs = console_programs(LoadedSpec(spec, Path(f"{spec.program}.yaml")) for spec in specs)

    @property
    def desk(self) -> Desk:
        parts = self.cases, self.outbox, self.links, self.looks, self.programs, Pages()
        return Desk(*parts, self._wake, lambda: self.clock)

    def applicants(self, address: URL | None = None) -> web.Application:
        return ApplicantPages(self.desk, address).site()

    def office(self, gate: SignInGate | None = None) -> web.Application:
        people_at = URL("https://pages.example")
        return Office(self.desk, Programmes(self.folder), gate or OpenGate(), lambda: "now", people_at).site()

    def link(self, name: str, days: int = 90, program: str = "loan") -> str:
        return f"/l/{self.links.token(KEYS.handle(program, name), days)}"

    def close(self) -> None:
        for part in (self.store, self.cases, self.outbox, self.looks):
            part.close()

    def _wake(self) -> None:
        self.woken += 1


@contextmanager
def refusing(site: Console, how: str) -> Iterator[None]:
    """A file that nobody can write: somebody else holds it ``locked``, or its disk is ``full``."""
    db = site.outbox._db
    if how == "full":
        [(pages,)] = db.execute("PRAGMA page_count").fetchall()
        db.execute(f"PRAGMA max_page_count={pages}")
        with suppress(LedgerError):
            for number in range(1000):
                site.outbox.put("somebody", Answer("loan", "x", None), event_id=f"{number}", time_ms=0)
        yield
        db.execute("PRAGMA max_page_count=100000")
        return
    db.execute("PRAGMA busy_timeout=0")
    with closing(sqlite3.connect(site.folder / FILE, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        yield


def spoil(file: Path, least: int = 1) -> None:
    """Write over all pages of a console's file behind the first ``least``."""
    with closing(sqlite3.connect(file)) as db:
        db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        [(page_bytes,)] = db.execute("PRAGMA page_size").fetchall()
    begin, size = least * page_bytes, file.stat().st_size
    assert begin < size
    with file.open("r+b") as written:
        written.seek(begin)
        written.write(b"x" * (size - begin))


@contextmanager
def console(story: Tape, folder: Path) -> Iterator[Console]:
    """A console that has read what a tape's journal and outputs hold."""
    topics, spec = story.run.topics, replace(story.run.programs["loan"].spec, words=WORDS)
    with closing(Console(topics, [spec], folder)) as made:
        for (topic, _), log in sorted(story.run.broker.logs.items()):
            if topic in {*topics.outputs, topics.journal}:
                made.store.fold(log)
        yield made


@contextmanager
def serving(broker: EmbeddedBroker, folder: Path, specs: Iterable[Path]) -> Iterator[tuple[str, str]]:
    """A console as users start it, whose state is in a folder; yields the addresses of both sites. SIGTERM ends it
    with 0. Its log stands beside the folder."""
    command = [sys.executable, "-P", "-m", "onward", "console", "serve", "--brokers", broker.bootstrap]
    command += [flag for spec in specs for flag in ("--spec", str(spec))]
    command += ["--state-dir", str(folder), "--port", "0", "--office-port", "0"]
    with (
        folder.with_suffix(".log").open("w") as log,
        subprocess.Popen(command, stdout=subprocess.PIPE, stderr=log, text=True) as process,
    ):
        assert process.stdout is not None
        try:
            people, office = (process.stdout.readline().split()[1] for _ in range(2))
            yield people, office
        finally:
            process.send_signal(signal.SIGTERM)
            code = process.wait()
    assert code == 0


@asynccontextmanager
async def visiting(app: web.Application) -> AsyncIterator[TestClient[Any, Any]]:
    """A browser of the site: it keeps cookies, and says where its requests come from."""
    server = TestServer(app)
    await server.start_server()
    jar = CookieJar(unsafe=True, treat_as_secure_origin=server.make_url("/"))
    async with TestClient(server, cookie_jar=jar) as client:
        yield client


async def text_of(client: TestClient[Any, Any], path: str, **more: Any) -> tuple[int, str]:
    async with client.get(path, **more) as response:
        return response.status, await response.text()


async def posted(
    client: TestClient[Any, Any], path: str, data: Mapping[str, str] | None = None, **more: Any
) -> tuple[int, str]:
    async with client.post(path, data=data or {}, **{"headers": SAME_ORIGIN, **more}) as response:
        return response.status, await response.text()

"""A console without Kafka, whose cases come from a tape."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any

from aiohttp import CookieJar, web
from aiohttp.test_utils import TestClient, TestServer
from msgspec.structs import replace
from yarl import URL

from onward.schemas.specfile import LoadedSpec
from onward.schemas.words.form import FeatureWords, LanguageWords, Organisation, ProgramWords, ValueKind
from onward.streams.console.applicants import Applicants
from onward.streams.console.case_store import CaseStore
from onward.streams.console.cases import Cases
from onward.streams.console.desk import Desk
from onward.streams.console.handles import Keys
from onward.streams.console.links import Links
from onward.streams.console.looks import Looks
from onward.streams.console.outbox import Outbox
from onward.streams.console.pages import Pages
from onward.streams.console.programs import console_programs
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
    """The parts of a console over what a tape's journal and outputs hold."""

    def __init__(self, story: Tape, folder: Path) -> None:
        self.story, self.folder, topics = story, folder, story.run.topics
        self.store = CaseStore(folder, topics, KEYS)
        self.cases, self.outbox, self.looks = (
            Cases(folder, KEYS),
            Outbox(folder, topics),
            Looks(folder, lambda: self.clock),
        )
        self.clock = START_MS / 1000 + 600
        self.links = Links(KEYS, lambda: self.clock)
        self.woken = 0
        spec = replace(story.run.programs["loan"].spec, words=WORDS)
        self.programs = console_programs([LoadedSpec(spec, Path("loan.yaml"))])

    @property
    def desk(self) -> Desk:
        parts = self.cases, self.outbox, self.links, self.looks, self.programs, Pages()
        return Desk(*parts, self._wake, lambda: self.clock)

    def read(self) -> None:
        """Read what the topics hold."""
        topics = self.story.run.topics
        for (topic, _), log in sorted(self.story.run.broker.logs.items()):
            if topic in {*topics.outputs, topics.journal}:
                self.store.fold(log)

    def applicants(self, address: URL | None = None) -> web.Application:
        return Applicants(self.desk, address).site()

    def link(self, name: str, days: int = 90) -> str:
        return f"/l/{self.links.token(KEYS.handle('loan', name), days)}"

    def close(self) -> None:
        for part in (self.store, self.cases, self.outbox, self.looks):
            part.close()

    def _wake(self) -> None:
        self.woken += 1


@contextmanager
def console(story: Tape, folder: Path) -> Any:
    made = Console(story, folder)
    try:
        made.read()
        yield made
    finally:
        made.close()


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

"""Ways through the console without scripts and with the keyboard alone, beside a worker over real sockets."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec
import pytest
import pytest_asyncio
from playwright.async_api import Browser, Page

from onward.schemas.events import Application
from onward.schemas.headers import cloud_event_headers
from onward.schemas.kinds import ce_type
from onward.streams.cli import main
from onward.streams.cli.process.worker_process import WorkerProcess
from onward.streams.console.handles import keys_of
from onward.streams.console.links import Links
from onward.streams.kafka.client import EventWriter
from onward.streams.kafka.embedded import EmbeddedBroker
from onward.streams.settings import BrokerSettings
from onward.tests.streams.console.browser import CHROMIUM_IS_THERE, a_page, browsing
from onward.tests.streams.console.sites import serving
from onward.tests.support.installations import TOPICS, read_events
from onward.tests.support.programs import write_programs
from onward.tests.support.stricter_models import write_stricter

pytestmark = [CHROMIUM_IS_THERE, pytest.mark.asyncio(loop_scope="module")]

PROGRAMS: dict[str, Any] = {
    "asking": {
        "policy": {"objective": "cost", "choice": "protoar", "generator": "plans", "cost": "mixed", "options": 3},
        "elicitation": {"questions": 1, "tolerance": 0, "response": "noiseless", "deadline": "PT1H"},
    },
    "promising": {
        "policy": {"objective": "cost", "choice": "posterior", "generator": "search", "options": 2},
        "promise": {"kind": "lp", "radius": 0.1, "valid_for": "P90D"},
    },
}
WORDS = """\
organisation: {name: Bank, contact: "Bank, 1 Square.", ask: "https://bank.example/ask", apply: "https://bank.example/"}
program: {name: Loan, applied: your application}
features:
  income: {name: Your income, up: earn more, down: earn less}
  debts: {name: Your debts, down: owe less}
"""
MOST_KEYS = 60


@dataclass(frozen=True)
class Bank:
    """A broker, a worker and a console, as they run."""

    broker: EmbeddedBroker
    folder: Path
    people: str
    office: str

    def applies(self, program: str, name: str) -> str:
        """Let somebody apply; return their link."""
        event = Application(program, name, {"income": 60.0, "debts": 9, "region": "north"})
        headers = cloud_event_headers(name, "test", ce_type(event), time.time_ns() // 1_000_000)
        with EventWriter(self.broker.options()) as writer:
            writer.send(TOPICS.applications, msgspec.json.encode(event), key=name.encode(), headers=headers)
        keys = keys_of(self.folder / "console", is_new=False)
        return f"{self.people}/l/{Links(keys).token(keys.handle(program, name), 1)}"

    def announces(self, version: str, stricter: float) -> None:
        """Announce a model of ``promising`` that accepts fewer people."""
        manifest = write_stricter(self.folder / version, self.folder / "promising.yaml", stricter)
        assert main(["models", "announce", "--brokers", self.broker.bootstrap, "--manifest", manifest]) == 0

    def answers(self, name: str, least: int = 0) -> list[Any]:
        """What somebody has answered, as the topic has it once it holds so many answers."""
        found = [event for event in read_events(self.broker, TOPICS.answers, least) if event["application"] == name]
        return [(event.get("question"), event["option"]) for event in found]


@pytest.fixture(scope="module")
def bank(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Bank]:
    folder = tmp_path_factory.mktemp("bank")
    (folder / "words").mkdir()
    (folder / "words" / "en.yaml").write_text(WORDS)
    specs = write_programs(folder, {name: {**parts, "words": "words"} for name, parts in PROGRAMS.items()})
    flags = [flag for spec in specs for flag in ("--spec", str(spec))]
    flags += ["--state-dir", str(folder / "state"), "--no-web", "--fetch-wait-seconds", "0.01"]
    with (
        EmbeddedBroker(dict.fromkeys((*TOPICS.inputs, TOPICS.journal, *TOPICS.outputs), 1)) as broker,
        WorkerProcess(BrokerSettings(brokers=(broker.bootstrap,)), flags, folder / "worker.log"),
        serving(broker, folder / "console", specs) as (people, office),
    ):
        yield Bank(broker, folder, people, office)


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def browser(bank: Bank) -> AsyncIterator[Browser]:
    async with browsing() as browser:
        yield browser


@pytest_asyncio.fixture(loop_scope="module")
async def page(browser: Browser) -> AsyncIterator[Page]:
    """A page without scripts."""
    async with a_page(browser, java_script_enabled=False) as page:
        yield page


async def shown(page: Page, address: str, text: str) -> None:
    """Load a page until it says something."""
    while True:
        await page.goto(address)
        if text in await page.inner_text("body"):
            return
        await asyncio.sleep(0.1)


async def tabbed(page: Page, selector: str) -> None:
    """Go on by Tab until something has the focus."""
    for _ in range(MOST_KEYS):
        await page.keyboard.press("Tab")
        if await page.locator(f"{selector}:focus").count():
            return
    raise AssertionError(f"{selector} cannot be reached by Tab")


async def pressed(page: Page, selector: str) -> None:
    """Go on by Tab to a button or a link, press Enter, and wait for the next page."""
    await tabbed(page, selector)
    async with page.expect_navigation():
        await page.keyboard.press("Enter")


async def opened(page: Page, link: str, text: str) -> None:
    """Open a link by its button; return when the page says something."""
    await shown(page, link, "Bank has an answer for you")
    await pressed(page, "button.button")
    await shown(page, page.url, text)


async def test_who_answers_a_question_is_told_ways_and_chooses_one(bank: Bank, page: Page) -> None:
    await opened(page, bank.applies("asking", "ada"), "Question 1")
    await tabbed(page, "[type=radio]")
    await page.keyboard.press("Space")
    await pressed(page, "main button")
    await shown(page, f"{bank.people}/you", "What you can do now")
    await pressed(page, ".way button")
    assert "You chose this way" in await page.inner_text("main")
    assert bank.answers("ada", 2) == [(1, "1"), (None, "1")]


async def test_a_case_worker_finds_a_case_and_enters_what_happened(bank: Bank, page: Page) -> None:
    await opened(page, bank.applies("promising", "eve"), "What you can do now")
    await page.goto(bank.office)
    await tabbed(page, "#q")
    await page.keyboard.type("eve")
    async with page.expect_navigation():
        await page.keyboard.press("Enter")
    assert "Applied" in await page.inner_text(".story")
    await tabbed(page, "#r1")
    await page.keyboard.press("Space")
    await tabbed(page, "#option")
    await page.keyboard.press("ArrowDown")
    await pressed(page, "form[action$=outcome] button")
    assert "Outcome: did it, and is better off" in await page.inner_text(".story")
    await shown(page, page.url, "Counted as improved")


async def test_who_reads_ways_that_have_changed_is_told_and_chooses_among_the_new_ones(bank: Bank, page: Page) -> None:
    await opened(page, bank.applies("promising", "bob"), "What you can do now")
    before = await page.inner_text(".ways")
    await asyncio.to_thread(bank.announces, "stricter", 3.0)
    other = await page.context.new_page()
    await shown(other, f"{bank.people}/you", "Something has changed")
    assert "our rules changed" in await other.inner_text("main")
    await shown(other, f"{bank.office}/cases?queue=changed", "bob")
    await pressed(page, ".way button")
    text = await page.inner_text("main")
    assert "Your last answer came too late." in text
    assert "Something has changed" in text
    assert await page.inner_text(".ways") != before
    assert not await page.locator(".way.chosen").count()
    await pressed(page, ".way button")
    assert await page.locator(".way.chosen").count() == 1
    assert len(bank.answers("bob", 1)) == 1

"""The pages of the console in a browser: what axe says of them, what can be pressed, and what people read."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import AbstractAsyncContextManager, closing
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import pytest_asyncio
from aiohttp.test_utils import TestClient
from playwright.async_api import Browser, Page

from onward.environments.people import PACKAGED_SPECS
from onward.schemas.specfile import load_spec
from onward.streams.cli import main
from onward.streams.console import applicants, office
from onward.streams.console.pages import Pages
from onward.streams.console.person import person_page
from onward.streams.topics import Topics
from onward.testing.pipeline import START_MS
from onward.tests.streams.console.browser import (
    CHROMIUM_IS_THERE,
    browsing,
    faults,
    faults_anywhere,
    looking,
    printed_controls,
    show,
)
from onward.tests.streams.console.sites import KEYS, SAME_ORIGIN, Console, posted, text_of, visiting
from onward.tests.streams.console.states import DAY_MS, STATES, TWO, records, states_of
from onward.tests.support.applicant_texts import faults as faults_of_texts
from onward.tests.support.programs import features, write_programs

pytestmark = [CHROMIUM_IS_THERE, pytest.mark.asyncio(loop_scope="module")]

NAMES = ("loan", "course", "compas", "credit", "diabetes")
SPECS = {spec.program: spec for spec in (load_spec(PACKAGED_SPECS / f"{name}.yaml").spec for name in NAMES)}
LOAN = "personal-loan"
LOOKS = (
    *("waits", "approved", "place", "question", "question in order", "working", "ways", "one", "steps", "follows"),
    *("open", "chosen", "none works", "changed", "one gone", "all gone", "places", "refused"),
    *("apply again", "none", "again", "round over", "window over", "thanks"),
)
"""The states whose pages differ."""
TAP, OFFICE_TAP = 44, 24
"""How high what applicants press is, and what case workers press, in CSS pixels."""


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Console]:
    topics = Topics()
    with closing(Console(topics, SPECS.values(), tmp_path_factory.mktemp("console"))) as made:
        made.clock = (START_MS + 10 * DAY_MS) / 1000
        stories = {
            (program, state): events
            for program, spec in SPECS.items()
            for state, (_, events) in (STATES if program == LOAN else states_of(spec)).items()
        }
        made.store.fold(records(stories, topics))
        yield made


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def browser() -> AsyncIterator[Browser]:
    async with browsing() as browser:
        yield browser


@pytest.fixture(autouse=True)
def holds_nothing_back(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(applicants, "HOLD_SECONDS", 0.0)


def looking_at(browser: Browser, client: TestClient[Any, Any]) -> AbstractAsyncContextManager[Page]:
    return looking(browser, str(client.make_url("/static/onward.css")))


async def pages_of_people(site: Console, client: TestClient[Any, Any], tag: str) -> AsyncIterator[tuple[str, str]]:
    """Every page of the applicants' site, with a name."""
    more = {"headers": {**SAME_ORIGIN, "Accept-Language": tag}}
    for name in LOOKS:
        status, html = await posted(client, site.link(name, program=LOAN), **more)
        assert status == 200, name
        yield name, html
    yield "too late", (await text_of(client, "/you?late=1", **more))[1]
    await posted(client, site.link("question", program=LOAN))
    status, html = await posted(client, "/you/answer", {"question": "1"}, **more)
    assert (status, 'role="alert"' in html) == (400, True)
    yield "nothing chosen", html
    for path, known in ((site.link("ways", program=LOAN), 200), ("/l/none", 404), ("/left", 200)):
        status, html = await text_of(client, path, **more)
        assert status == known
        yield path[:5], html


@pytest.mark.parametrize("tag", ["en", "ar"])
async def test_applicants_can_see_and_press_everything(site: Console, browser: Browser, tag: str) -> None:
    found, seen = [], set[str]() if tag == "en" else None
    async with visiting(site.applicants()) as client, looking_at(browser, client) as page:
        async for name, html in pages_of_people(site, client, tag):
            assert f'lang="{tag}"' in html
            await show(page, html)
            found += [f"{name}: {one}" for one in await faults(page, TAP, seen)]
    assert not found, "\n".join(found)


@pytest.mark.slow
@pytest.mark.parametrize("tag", ["en", "ar"])
async def test_every_page_is_right_at_every_width_in_light_and_dark(site: Console, browser: Browser, tag: str) -> None:
    found = []
    async with visiting(site.applicants()) as client, looking_at(browser, client) as page:
        async for name, html in pages_of_people(site, client, tag):
            await show(page, html)
            found += [f"{name}: {one}" for one in await faults_anywhere(page)]
    assert not found, "\n".join(found)


async def test_applicants_read_short_sentences_without_columns_scores_or_shares(
    site: Console, browser: Browser
) -> None:
    found = []
    async with visiting(site.applicants()) as client, looking_at(browser, client) as page:
        for program, name in product(SPECS, LOOKS):
            status, html = await posted(client, site.link(name, program=program))
            assert status == 200, (program, name)
            await show(page, html)
            # The name of a button tells the heading above it once more.
            lines = [line for line in (await page.inner_text("body")).splitlines() if not line.startswith(":")]
            found += [f"{program}, {name}: {one}" for one in faults_of_texts(SPECS[program], lines)]
    assert not found, "\n".join(found)


async def test_a_letter_and_a_printed_page_have_nothing_to_press(site: Console, browser: Browser) -> None:
    found = []
    async with visiting(site.applicants()) as client, looking_at(browser, client) as page:
        async for name, html in pages_of_people(site, client, "en"):
            await show(page, html)
            found += [f"{name}: {one}" for one in await printed_controls(page)]
        for tag in ("en", "ar"):
            await show(page, letter(site, "changed", tag))
            found += [f"{tag}: {one}" for one in (*await faults(page, TAP, set()), *await printed_controls(page))]
    assert not found, "\n".join(found)


def letter(site: Console, name: str, tag: str) -> str:
    case = site.cases.find(LOAN, name)
    assert case
    words, now_ms = site.programs[LOAN].languages[tag], site.desk.now_ms
    page = person_page(case.happenings, words, name, now_ms)
    return Pages().person(page, words, reference=name, today_ms=now_ms, is_letter=True)


async def pages_of_the_office(client: TestClient[Any, Any]) -> AsyncIterator[tuple[str, str]]:
    """Every page of the office's site, with a name."""
    for queue in ("changed", "none"):
        yield queue, (await text_of(client, f"/cases?queue={queue}"))[1]
    yield "not found", (await posted(client, "/cases", {"q": "nobody", "program": LOAN}))[1]
    for name in ("waits", "changed", "refused", "none"):
        yield name, (await text_of(client, f"/cases/{KEYS.handle(LOAN, name)}"))[1]
    case = f"/cases/{KEYS.handle(LOAN, 'open')}"
    for action, form in (
        ("outcome", {"once": "x"}),
        ("link", {}),
        ("reveal", {"why": "they called"}),
        ("whatif", {"most-savings": "9.000"}),
        ("whatif", {"fixed": "savings", "most-monthly_income": "9000"}),
    ):
        yield f"{action} {form}", (await posted(client, f"{case}/{action}", form))[1]
    yield "what if", (await text_of(client, f"{case}/whatif"))[1]
    yield "programme", (await text_of(client, f"/programmes/{LOAN}"))[1]


async def test_case_workers_can_see_and_press_everything(
    site: Console, browser: Browser, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(office, "ways_within", lambda *_: TWO)
    found, seen = [], set[str]()
    async with visiting(site.office()) as client, looking_at(browser, client) as page:
        async for name, html in pages_of_the_office(client):
            assert "<h1>" in html
            await show(page, html)
            found += [f"{name}: {one}" for one in await faults(page, OFFICE_TAP, seen)]
        for tag in ("en", "ar"):
            preview = f"/cases/{KEYS.handle(LOAN, 'question in order')}/person?lang={tag}"
            await show(page, (await text_of(client, preview))[1])
            found += [f"their page: {one}" for one in await faults(page, TAP)]
    assert not found, "\n".join(found)


async def test_a_review_can_be_seen(browser: Browser, tmp_path: Path) -> None:
    policy = {"objective": "cost", "choice": "posterior", "generator": "search", "options": 2}
    [spec] = write_programs(tmp_path, {"loan": {"policy": policy}})
    dice = np.random.default_rng(1)
    rows = [{**features(dice), "repaid": number % 2} for number in range(200)]
    lines = [",".join(rows[0]), *(",".join(map(str, row.values())) for row in rows)]
    (tmp_path / "loans.csv").write_text("\n".join(lines))
    written = tmp_path / "review.html"
    command = ["spec", "review", str(spec), "--data", str(tmp_path / "loans.csv"), "--people", "20"]
    assert await asyncio.to_thread(main, [*command, "--output", str(written)]) == 0
    async with looking(browser, written.as_uri()) as page:
        assert await page.locator(".check li").count()
        assert not await faults(page, OFFICE_TAP, set())

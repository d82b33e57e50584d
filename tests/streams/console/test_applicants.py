"""The site of the applicants: links, forms, and what is refused."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from yarl import URL

from onward.schemas.events import Answer
from onward.streams.console.applicants import COOKIE, MOST_AN_HOUR
from onward.testing.tape import POOR, RICH, TIMED, Tape, tape
from onward.tests.streams.console.sites import KEYS, SAME_ORIGIN, Console, console, posted, refusing, text_of, visiting

NAME = 'A/17 "<b> مرجع'


@pytest.fixture
def story(tmp_path: Path) -> Tape:
    story = tape(tmp_path, decisions="external", **TIMED)
    for name, features in ((NAME, POOR), ("y", RICH), ("other", POOR)):
        story.applies(name, features=features)
        story.decides(name, 1, approved=features is RICH)
    story.fold()
    return story


@pytest.fixture
def site(story: Tape, tmp_path: Path):
    with console(story, tmp_path / "console") as made:
        yield made


def once_of(page: str) -> str:
    found = re.search(r'name="once" value="([^"]+)"', page)
    assert found
    return found[1]


async def opened(client, site: Console, name: str = NAME) -> str:
    """Follow a link to the page of a case."""
    status, page = await posted(client, site.link(name))
    assert status == 200, page
    return page


async def test_a_link_leads_to_the_page_and_a_choice_to_its_topic_once(site: Console) -> None:
    async with visiting(site.applicants()) as client:
        status, page = await text_of(client, site.link(NAME))
        assert (status, "Bank has an answer for you" in page) == (200, True)
        assert COOKIE not in {cookie.key for cookie in client.session.cookie_jar}
        page = await opened(client, site)
        assert "What you can do now" in page
        assert "&lt;b&gt;" in page
        form = {"once": once_of(page), "option": "1"}
        for _ in range(2):
            status, page = await posted(client, "/you/answer", form)
            assert (status, "You chose this way" in page) == (200, True)
    [sent] = site.outbox.pending(KEYS.handle("loan", NAME))
    assert sent.event == Answer("loan", NAME, "1")
    assert site.outbox.waiting()[0] == 1
    assert site.woken == 2


async def test_nobody_chooses_when_a_choice_counts_no_more(site: Console) -> None:
    async with visiting(site.applicants()) as client:
        form = {"once": once_of(await opened(client, site)), "option": "1"}
        site.clock += 3600  # longer than the outcome window
        status, page = await posted(client, "/you/answer", form)
    assert (status, "Your last answer came too late." in page, "Choose this way" in page) == (200, True, False)
    assert site.outbox.waiting()[0] == 0


async def test_the_last_choice_counts_and_none_is_one(site: Console) -> None:
    async with visiting(site.applicants()) as client:
        page = await opened(client, site)
        _, page = await posted(client, "/you/answer", {"once": once_of(page), "option": "1"})
        status, page = await posted(client, "/you/answer", {"once": once_of(page), "option": ""})
        assert (status, "You told us that none of these work for you." in page) == (200, True)
        async with client.get("/you.json") as response:
            told = await response.json()
    assert told["picked_none"]
    assert not any(way["chosen"] for way in told["ways"])
    assert set(told["ways"][0]["changes"][0]) >= {"name", "from", "to", "before"}


async def test_a_program_chooses_for_somebody_with_a_name_of_its_own(site: Console) -> None:
    async with visiting(site.applicants()) as client:
        await opened(client, site)
        async with client.get("/you.json") as response:
            told = await response.json()
        for once, is_taken in ((f"mine.{told['fingerprint']}x", False), ("mine", True)):
            await posted(client, "/you/answer", {"once": once, "option": "1"})
            async with client.get("/you.json") as response:
                assert (await response.json())["ways"][0]["chosen"] == is_taken


async def test_every_link_that_does_not_work_has_the_same_page(site: Console) -> None:
    good = site.link(NAME)
    expired = site.link(NAME, days=1)
    site.clock += 2 * 86_400
    revoked = site.link("other")
    site.looks.revoke(KEYS.handle("loan", "other"))
    bad = [good[:-3], good[:6] + "x" + good[7:], expired, site.link("nobody"), revoked, "/l/", "/l/x"]
    async with visiting(site.applicants()) as client:
        pages = {await text_of(client, path) for path in bad}
        assert len({status for status, _ in pages}) == 1
        assert {status for status, _ in pages} == {404}
        assert len({page for _, page in pages}) == 1
        assert (await text_of(client, good))[0] == 200


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({}, 403),
        ({"Sec-Fetch-Site": "cross-site"}, 403),
        ({"Sec-Fetch-Site": "none"}, 403),
        ({"Origin": "https://evil.example"}, 403),
        ({"Origin": "https://pages.example"}, 200),
        (SAME_ORIGIN, 200),
    ],
)
async def test_forms_come_from_pages_of_the_site_alone(site: Console, headers: dict[str, str], status: int) -> None:
    async with visiting(site.applicants(URL("https://pages.example"))) as client:
        assert (await posted(client, site.link(NAME), headers=headers))[0] == status


async def test_what_is_no_answer_of_the_page_is_refused(site: Console) -> None:
    async with visiting(site.applicants()) as client:
        page = await opened(client, site)
        once = once_of(page)
        for form, status in [
            ({"once": once, "option": "99"}, 400),
            ({"once": "", "option": "1"}, 400),
            ({"once": "../" + once, "option": "1"}, 400),
            ({"option": "1"}, 400),
            ({"once": once}, 400),
            ({"once": once, "option": "1", "more": "x" * 20_000}, 413),
        ]:
            assert (await posted(client, "/you/answer", form))[0] == status
        status, page = await posted(client, "/you/answer", {"once": once.partition(".")[0] + ".other", "option": "1"})
        assert (status, "Your last answer came too late." in page) == (200, True)
    assert site.outbox.waiting()[0] == 0


async def test_one_case_may_send_so_much_an_hour(site: Console) -> None:
    async with visiting(site.applicants()) as client:
        page = await opened(client, site)
        for _ in range(MOST_AN_HOUR):
            status, page = await posted(client, "/you/answer", {"once": once_of(page), "option": "1"})
            assert status == 200
        status, page = await posted(client, "/you/answer", {"once": once_of(page), "option": "1"})
        assert (status, "Please wait a little" in page) == (429, True)


async def test_a_page_speaks_the_language_that_is_asked_for(site: Console) -> None:
    async with visiting(site.applicants()) as client:
        await opened(client, site)
        assert 'lang="ar" dir="rtl"' in (await text_of(client, "/you", headers={"Accept-Language": "fr, ar-EG"}))[1]
        assert 'lang="en" dir="ltr"' in (await text_of(client, "/you"))[1]
        assert 'lang="ar"' in (await text_of(client, "/you?lang=ar"))[1]
        assert 'lang="ar"' in (await text_of(client, "/you", headers={"Accept-Language": "en"}))[1]


async def test_who_leaves_has_to_open_the_link_again(site: Console) -> None:
    async with visiting(site.applicants()) as client:
        await opened(client, site)
        status, page = await posted(client, "/you/leave")
        assert (status, "You have left" in page) == (200, True)
        assert (await text_of(client, "/you"))[0] == 401


async def test_a_session_ends_after_two_hours(site: Console) -> None:
    async with visiting(site.applicants()) as client:
        form = {"once": once_of(await opened(client, site)), "option": "1"}
        site.clock += 7201
        status, page = await posted(client, "/you/answer", form)
        assert (status, "Open the link in your letter to come back." in page) == (401, True)


async def test_pages_forbid_everything_that_they_do_not_need(site: Console) -> None:
    async with visiting(site.applicants()) as client:
        for path in (site.link(NAME), "/you", "/static/onward.css"):
            async with client.get(path) as response:
                assert response.headers["Content-Security-Policy"].startswith("default-src 'none'; style-src 'self'")
                assert response.headers["Referrer-Policy"] == "same-origin"


@pytest.mark.parametrize("how", ["locked", "full"])
async def test_what_cannot_be_kept_is_said_and_can_be_sent_again(
    site: Console, how: str, caplog: pytest.LogCaptureFixture
) -> None:
    async with visiting(site.applicants()) as client:
        form = {"once": once_of(await opened(client, site)), "option": "1"}
        with refusing(site, how):
            status, page = await posted(client, "/you/answer", form)
            assert (status, "Try again in a minute." in page) == (503, True)
        [line] = [record for record in caplog.records if record.name.startswith("onward")]
        assert how in line.getMessage()
        assert NAME not in line.getMessage()
        status, page = await posted(client, "/you/answer", form)
        assert (status, "You chose this way" in page) == (200, True)

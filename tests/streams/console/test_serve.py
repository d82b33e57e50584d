"""The console beside a worker over real sockets: from a link to a choice and an outcome, each once on its topic."""

from __future__ import annotations

import asyncio
import json
import re
import time
from datetime import UTC, datetime
from pathlib import Path

import aiohttp
import msgspec
import pytest
from yarl import URL

import onward
from onward.schemas.events import Application
from onward.schemas.headers import cloud_event_headers
from onward.schemas.kinds import ce_type
from onward.streams.cli import main
from onward.streams.cli.process.worker_process import WorkerProcess
from onward.streams.kafka.client import EventWriter
from onward.streams.kafka.embedded import EmbeddedBroker
from onward.streams.settings import BrokerSettings
from onward.tests.streams.console.sites import SAME_ORIGIN, serving
from onward.tests.support.installations import TOPICS, read_events
from onward.tests.support.loans import reviewed_spec, write_loans

PLAIN = "policy: {objective: cost, generator: search, choice: protoar, options: 3}"
ASKS = "policy: {objective: cost, generator: plans, choice: protoar, cost: mixed, options: 3}"
TERMS = "elicitation: {questions: 2, tolerance: 0, response: noiseless, deadline: PT1H}\nwords: words\n"
WORDS = """\
organisation: {name: Bank, contact: "Bank, 1 Square.", ask: "https://bank.example/ask", apply: "https://bank.example/"}
program: {name: Loan, applied: your application}
features:
  income: {name: Your income, up: earn more}
  debts: {name: Your debts, down: owe less}
"""


def field(page: str, name: str) -> str:
    found = re.search(rf'name="{name}" value="([^"]*)"', page)
    assert found, page
    return found[1]


async def page_with(session: aiohttp.ClientSession, path: str, text: str) -> str:
    """The page once it holds a text."""
    page = ""
    while text not in page:
        async with session.get(path) as response:
            page = await response.text()
        await asyncio.sleep(0.1)
    return page


async def posted(session: aiohttp.ClientSession, path: str, **form: str) -> str:
    async with session.post(path, data=form, headers=SAME_ORIGIN) as response:
        page = await response.text()
        assert response.status == 200, page
        return page


async def test_from_a_link_to_ways_a_choice_and_an_outcome(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "words").mkdir()
    (tmp_path / "words" / "en.yaml").write_text(WORDS)
    (tmp_path / "loans.yaml").write_text(reviewed_spec().replace(PLAIN, f"{ASKS}\n{TERMS}"))
    write_loans(tmp_path / "loans.csv")
    onward.train(tmp_path / "loans.csv", tmp_path / "loans.yaml", tmp_path / "model", estimator="logistic_regression")
    flags = ["--spec", str(tmp_path / "loans.yaml"), "--state-dir", str(tmp_path / "state"), "--no-web"]
    with (
        EmbeddedBroker(dict.fromkeys((*TOPICS.inputs, TOPICS.journal, *TOPICS.outputs), 2)) as broker,
        WorkerProcess(BrokerSettings(brokers=(broker.bootstrap,)), flags, tmp_path / "worker.log"),
    ):
        time_ms, today = time.time_ns() // 1_000_000, datetime.now(UTC).date().isoformat()
        event = Application("loans", "ada", {"income": 35, "debts": 6, "region": "north"})
        with EventWriter(broker.options()) as writer:
            headers = cloud_event_headers("a", "test", ce_type(event), time_ms)
            writer.send(TOPICS.applications, msgspec.json.encode(event), key=b"ada", headers=headers)
        with serving(broker, tmp_path / "console", [tmp_path / "loans.yaml"]) as (people, office):
            link = ["console", "link", "ada", "--program", "loans", "--state-dir", str(tmp_path / "console")]
            assert await asyncio.to_thread(main, [*link, "--address", people]) == 0
            path = capsys.readouterr().out.strip()
            jar = aiohttp.CookieJar(unsafe=True, treat_as_secure_origin=URL(people))
            async with aiohttp.ClientSession(cookie_jar=jar) as session:
                await page_with(session, path, "has an answer for you")
                await posted(session, path)
                async with session.get(f"{path}?x={'x' * 9000}") as response:
                    assert response.status == 400
                for number in ("1", "2"):
                    page = await page_with(session, f"{people}/you", f"Question {number}")
                    assert field(page, "question") == number
                    for _ in range(2):  # a second press of the button is no late answer
                        page = await posted(session, f"{people}/you/answer", question=number, option="1")
                        assert "came too late" not in page
                page = await page_with(session, f"{people}/you", "What you can do now")
                page = await posted(session, f"{people}/you/answer", once=field(page, "once"), option="1")
                assert "You chose this way" in page
                page = await posted(session, f"{office}/cases", q="ada", program="")
                assert "Answered question 1: plan 1" in page
                key = re.search(r"/cases/([\w-]+)/outcome", page)
                assert key
                given = {"result": "improved", "on": today, "option": "1"}
                await posted(session, f"{office}/cases/{key[1]}/outcome", once=field(page, "once"), **given)
                await page_with(session, f"{office}/cases/{key[1]}", "Counted as improved")
                async with session.get(f"{office}/cases/{key[1]}.json") as response:
                    told = await response.json()
                await page_with(session, f"{people}/you", "We know how it went. You can apply again at any time.")
                async with session.get(f"{people}/l/none") as response:
                    assert response.status == 404
                metrics = await page_with(session, f"{office}/metrics", "onward_console_refused_links_total")
                assert "onward_console_refused_links_total 0.0" not in metrics
                assert 'onward_console_requests_total{site="office",status="200"}' in metrics
                assert "onward_console_outbox 0.0" in metrics
                assert await page_with(session, f"{office}/healthz", "ok") == "ok\n"
        show = ["show", "ada", "--program", "loans", "--brokers", broker.bootstrap, "--json"]
        assert await asyncio.to_thread(main, show) == 0
        [shown] = json.loads(capsys.readouterr().out)["programs"]
        answers = read_events(broker, TOPICS.answers, 3)
    assert told == shown
    log = (tmp_path / "console.log").read_text(encoding="utf-8")
    assert path.rpartition("/")[2] not in log
    assert "Traceback" not in log
    assert [(answer.get("question"), answer["option"]) for answer in answers] == [(1, "1"), (2, "1"), (None, "1")]
    letter = ["console", "letter", "ada", "--program", "loans", "--state-dir", str(tmp_path / "console")]
    assert main([*letter, "--spec", str(tmp_path / "loans.yaml")]) == 0
    assert "We know how it went. You can apply again at any time." in capsys.readouterr().out

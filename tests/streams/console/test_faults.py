"""The console whose file is damaged, whose keys are changed, or whose Kafka is away."""

from __future__ import annotations

import asyncio
import ctypes
import io
import sys
from contextlib import closing
from pathlib import Path

import aiohttp
import pytest
from msgspec.structs import replace

from onward.schemas.events import Application
from onward.streams.cli import main
from onward.streams.console.case_store import FILE, CaseStore
from onward.streams.console.handles import keys_of
from onward.streams.console.links import Links
from onward.streams.console.serve import Sites, serve_console
from onward.streams.console.who import OpenGate
from onward.streams.kafka.embedded import EmbeddedBroker
from onward.streams.topics import Topics
from onward.testing.tape import POOR, TIMED, Tape, tape
from onward.tests.streams.console.sites import KEYS, Console, console, posted, spoil, text_of, visiting
from onward.tests.streams.console.states import STATES, records
from onward.tests.streams.console.test_serve import WORDS, page_with
from onward.tests.support.loans import reviewed_spec

LONG = "ж/<b>" * 40
AUTH = ["--auth-issuer", "i", "--auth-audience", "a"]


@pytest.fixture
def story(tmp_path: Path) -> Tape:
    story = tape(tmp_path, decisions="external", **TIMED)
    for number, name in enumerate((LONG, "x")):
        story.applies(name, id=f"a-{number}")
        story.decides(name, 1, id=f"d-{number}")
    story.fold()
    return story


@pytest.fixture
def site(story: Tape, tmp_path: Path):
    (tmp_path / "console").mkdir()
    (tmp_path / "console" / "keys").touch(0o600)
    (tmp_path / "console" / "keys").write_text(f"{KEYS.secrets[0]}\n")
    with console(story, tmp_path / "console") as made:
        yield made


@pytest.fixture
def spec(tmp_path: Path) -> Path:
    """A spec whose words are British."""
    (tmp_path / "words").mkdir()
    (tmp_path / "words" / "en-GB.yaml").write_text(WORDS)
    (tmp_path / "loans.yaml").write_text(f"{reviewed_spec()}\nwords: words\n")
    return tmp_path / "loans.yaml"


def serve(folder: Path, spec: Path, *flags: str) -> list[str]:
    command = ["console", "serve", "--brokers", "127.0.0.1:1", "--spec", str(spec), "--state-dir", str(folder)]
    return [*command, "--port", "0", "--office-port", "0", *flags]


def link(folder: Path, *flags: str) -> list[str]:
    return ["console", "link", *flags, "--program", "loan", "--state-dir", str(folder)]


def test_a_damaged_file_ends_a_start_with_what_to_do(
    tmp_path: Path, spec: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "console"
    CaseStore(folder, Topics(), keys_of(folder)).close()
    spoil(folder / FILE)
    assert main(serve(folder, spec)) == 4
    line = capsys.readouterr().err
    assert line.startswith("onward: the console's file is damaged (")
    assert line.endswith("it comes back from --backup, or from what the topics still hold\n")
    assert line.count("\n") == 1


async def test_a_file_that_is_damaged_while_it_is_served_is_no_page(
    site: Console, caplog: pytest.LogCaptureFixture
) -> None:
    spoil(site.folder / FILE)
    async with visiting(site.applicants()) as client:
        status, page = await text_of(client, site.link(LONG))
        assert (status, "Try again in a minute." in page) == (503, True)
    async with visiting(site.office()) as client:
        for path in ("/cases", f"/cases/{KEYS.handle('loan', LONG)}"):
            assert (await text_of(client, path))[0] == 503
    assert "is damaged" in caplog.text
    assert LONG not in caplog.text


async def test_a_reference_of_two_hundred_characters_is_found_and_linked(
    site: Console, capsys: pytest.CaptureFixture[str]
) -> None:
    assert len(LONG) == 200
    async with visiting(site.office()) as client:
        status, page = await posted(client, "/cases", {"q": LONG, "program": ""})
        assert (status, f"Case <bdi>{'ж/&lt;b&gt;' * 40}</bdi>" in page) == (200, True)
    assert await asyncio.to_thread(main, link(site.folder, LONG)) == 0
    path = capsys.readouterr().out.strip().removeprefix("http://127.0.0.1:8090")
    async with visiting(site.applicants()) as client:
        status, page = await posted(client, path)
        assert (status, "ж/&lt;b&gt;" * 40 in page) == (200, True)
    assert await asyncio.to_thread(main, link(site.folder, f"{LONG}x")) == 2


async def test_links_of_older_keys_work_until_their_line_is_taken_out(
    site: Console, capsys: pytest.CaptureFixture[str]
) -> None:
    file, keys, paths = site.folder / "keys", [KEYS.secrets[0], "second", "third"], []
    for number in range(1, len(keys) + 1):
        file.write_text("".join(f"{key}\n" for key in keys[:number]))
        assert await asyncio.to_thread(main, link(site.folder, "x")) == 0
        paths.append(capsys.readouterr().out.strip().removeprefix("http://127.0.0.1:8090"))
    for without, statuses in ((None, [200, 200, 200]), ("second", [200, 404, 200])):
        file.write_text("".join(f"{key}\n" for key in keys if key != without))
        site.links = Links(keys_of(site.folder))
        async with visiting(site.applicants()) as client:
            assert [(await posted(client, path))[0] for path in paths] == statuses


def test_names_that_are_not_utf_8_are_said_by_their_line(
    site: Console, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"x\ncaf\xe9\n\nnobody\n\xff"), encoding="ascii"))
    assert main(link(site.folder, "-")) == 2
    told = capsys.readouterr()
    assert [line.partition("\t")[0] for line in told.out.splitlines()] == ["x", "nobody"]
    assert told.err.splitlines()[-1].endswith("they stand in these lines: 2, 5")


@pytest.mark.parametrize("address", ["http://[", "http://h:99999", "http://h:x", "ftp://h", "h", "http://"])
def test_an_address_that_is_none_is_said(
    site: Console, spec: Path, capsys: pytest.CaptureFixture[str], address: str
) -> None:
    for line in (link(site.folder, "x", "--address", address), serve(site.folder, spec, "--address", address)):
        assert main(line) == 2
        assert capsys.readouterr().err == f"onward: --address {address}: give a URL, as in https://pages.example\n"


@pytest.mark.parametrize(
    ("flags", "named"),
    [
        (["--auth-jwks", "nonsense", *AUTH], "--auth-jwks nonsense: give a URL"),
        (["--auth-jwks", "file:///etc/keys", *AUTH], "--auth-jwks file:///etc/keys: give a URL"),
        (["--auth-jwks", "https://keys.example", *AUTH, "--auth-header", "X Y"], "--auth-header"),
        (["--host", "no such host"], "cannot serve on no such host"),
        (["--backup", "nonsense://x"], "--backup nonsense://x"),
    ],
)
def test_flags_that_cannot_be_used_are_said(
    tmp_path: Path, spec: Path, capsys: pytest.CaptureFixture[str], flags: list[str], named: str
) -> None:
    assert main(serve(tmp_path / "console", spec, *flags)) == 2
    line = capsys.readouterr().err
    assert named in line
    assert "unexpected" not in line


def test_a_letter_is_in_the_first_language_that_the_program_has_and_asks_nothing(
    tmp_path: Path, spec: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder, applied = tmp_path / "console", Application("loans", "a", dict(POOR))
    with closing(CaseStore(folder, Topics(), keys_of(folder))) as store:
        asked = replace(STATES["question"][1][1], options=())
        store.fold(records({("loans", "a"): [applied], ("loans", "b"): [applied, asked]}, Topics()))
    letter = ["console", "letter", "a", "--program", "loans", "--state-dir", str(folder), "--spec", str(spec)]
    assert main(letter) == 0
    assert 'lang="en-GB"' in capsys.readouterr().out
    assert main([*letter, "--language", "de"]) == 2
    assert "--language de: the program has no such words, only en-GB" in capsys.readouterr().err
    assert main([*letter[:2], "b", *letter[3:]]) == 2
    assert "there is no letter for application 'b' yet" in capsys.readouterr().err


def turned(broker: EmbeddedBroker, how: str) -> None:
    """Let the broker go ``down``, or come ``up``, on the same port."""
    getattr(broker._library, f"rd_kafka_mock_broker_set_{how}")(ctypes.c_void_p(broker._cluster), 1)


async def test_an_outage_of_kafka_at_the_start_and_later_is_said_and_ends(
    story: Tape, site: Console, monkeypatch: pytest.MonkeyPatch
) -> None:
    topics, folder = story.run.topics, site.folder.with_name("served")
    for name, seconds in (("CHECK_SECONDS", 0.5), ("RETRY_SECONDS", 0.1)):
        monkeypatch.setattr(f"onward.streams.console.follower.{name}", seconds)
    told: asyncio.Future[tuple[str, str]] = asyncio.get_running_loop().create_future()

    def tell(*addresses: str) -> None:
        told.set_result((addresses[0], addresses[1]))

    stop, said = asyncio.Event(), Sites("127.0.0.1", 0, "127.0.0.1", 0)
    with EmbeddedBroker(dict.fromkeys((*topics.inputs, topics.journal, *topics.outputs), 1)) as broker:
        turned(broker, "down")
        options = broker.options(connect_timeout_ms=500)
        serving = asyncio.create_task(
            serve_console(options, topics, folder, site.programs, said, OpenGate(), told=tell, stop=stop)
        )
        people, office = await told
        async with aiohttp.ClientSession() as session:
            await page_with(session, f"{office}/healthz", broker.bootstrap)
            assert "Read up to nothing yet." in await page_with(session, f"{office}/cases", "Cases")
            turned(broker, "up")
            await page_with(session, f"{office}/healthz", "ok")
            story.write_to(broker.options())
            path = f"{people}/l/{Links(keys_of(folder)).token(keys_of(folder).handle('loan', 'x'), 90)}"
            await page_with(session, path, "has an answer for you")
            turned(broker, "down")
            await page_with(session, f"{office}/healthz", broker.bootstrap)
            await page_with(session, path, "has an answer for you")
            turned(broker, "up")
            await page_with(session, f"{office}/healthz", "ok")
        stop.set()
        await serving

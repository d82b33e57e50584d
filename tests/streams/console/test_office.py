"""The site of the office: search, queues, a story, an outcome, and whose cases are whose."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Awaitable
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import jwt
import pytest
from cryptography.hazmat.primitives.asymmetric.ec import SECP256R1, generate_private_key
from jwt.algorithms import ECAlgorithm
from msgspec.structs import replace

from onward.environments.people import PACKAGED_SPECS
from onward.schemas.events import Outcome
from onward.schemas.specfile import load_spec
from onward.streams.console.programmes import FEWEST, Programmes, Share, _without_hidden
from onward.streams.console.whatif import Limits
from onward.streams.console.who import TokenGate
from onward.streams.replay.history import History, state_of
from onward.streams.topics import Topics
from onward.testing.pipeline import START_MS
from onward.testing.tape import MINUTE_MS, POOR, RICH, TIMED, Tape, tape
from onward.tests.streams.console.sites import KEYS, SAME_ORIGIN, Console, console, posted, refusing, text_of, visiting
from onward.tests.streams.console.states import STATES, TWO, records

NAME = 'A/17 "<b>'
TODAY = datetime.fromtimestamp(START_MS / 1000, UTC).date()


@pytest.fixture
def story(tmp_path: Path) -> Tape:
    story = tape(tmp_path, decisions="external", **TIMED)
    for name, features in ((NAME, POOR), ("y", RICH), ("other", POOR)):
        story.applies(name, features=features)
        story.decides(name, 1, approved=features is RICH)
    story.says("other", 2, None)
    story.fold()
    return story


@pytest.fixture
def site(story: Tape, tmp_path: Path):
    with console(story, tmp_path / "console") as made:
        yield made


def key(name: str = NAME) -> str:
    return KEYS.handle("loan", name)


def once_of(page: str) -> str:
    found = re.search(r'name="once" value="([^"]+)"', page)
    assert found
    return found[1]


async def test_a_case_is_found_by_its_whole_reference_alone(site: Console) -> None:
    async with visiting(site.office()) as client:
        status, page = await posted(client, "/cases", {"q": f" {NAME} ", "program": ""})
        assert (status, "Case <bdi>A/17 &#34;&lt;b&gt;</bdi>" in page) == (200, True)
        status, page = await posted(client, "/cases", {"q": "A/17", "program": "loan"})
        assert (status, "No case has this reference" in page) == (200, True)


async def test_queues_hold_who_waits(site: Console) -> None:
    async with visiting(site.office()) as client:
        for queue, name in (("outcome", "A/17 &#34;&lt;b&gt;"), ("declined", "other")):
            _, page = await text_of(client, f"/cases?queue={queue}")
            assert f"<bdi>{name}</bdi>" in page
            assert page.count("<bdi>") == 1
        assert (await text_of(client, "/cases?queue=none-such"))[0] == 404


async def test_the_events_are_those_that_show_tells(site: Console, story: Tape) -> None:
    found = History(NAME, "loan", story.run.topics)
    for (topic, _), log in sorted(story.run.broker.logs.items()):
        if topic in {*story.run.topics.outputs, story.run.topics.journal}:
            for record in log:
                found.feed(record)
    async with visiting(site.office()) as client:
        _, text = await text_of(client, f"/cases/{key()}.json")
    told = json.loads(text)
    assert told["state"] == state_of(found.happenings)
    assert [(event["kind"], event["id"]) for event in told["events"]] == [
        (one.kind, one.id) for one in found.happenings
    ]


async def test_an_outcome_is_kept_once_with_its_day(site: Console) -> None:
    async with visiting(site.office()) as client:
        _, page = await text_of(client, f"/cases/{key()}")
        assert "Told one way forward" in page or "ways forward" in page
        form = {"once": once_of(page), "result": "improved", "option": "1", "on": TODAY.isoformat()}
        for _ in range(2):
            status, page = await posted(client, f"/cases/{key()}/outcome", form)
            assert (status, "Outcome: did it, and is better off" in page) == (200, True)
    [sent] = site.outbox.pending(key())
    assert sent.event == Outcome("loan", NAME, "improved", "1")


@pytest.mark.parametrize("how", ["locked", "full"])
async def test_an_outcome_that_cannot_be_kept_can_be_entered_again(site: Console, how: str) -> None:
    async with visiting(site.office()) as client:
        _, page = await text_of(client, f"/cases/{key()}")
        form = {"once": once_of(page), "result": "improved", "option": "1", "on": TODAY.isoformat()}
        with refusing(site, how):
            status, page = await posted(client, f"/cases/{key()}/outcome", form)
            assert (status, page) == (503, "This cannot be done just now. Try again in a minute.\n")
        status, _ = await posted(client, f"/cases/{key()}/outcome", form)
        assert status == 200


@pytest.mark.parametrize(
    ("change", "fault"),
    [
        ({"on": "tomorrow"}, "Say on which day"),
        ({"on": (TODAY + timedelta(days=2)).isoformat()}, "This day is still to come."),
        ({"on": "2001-01-01"}, "it cannot have happened before"),
        ({"result": "perhaps"}, "Say what happened."),
        ({"option": "99"}, "Choose one of the ways"),
        ({"on": "9999-12-31"}, "This day is still to come."),
    ],
)
async def test_an_outcome_that_cannot_be_is_refused_in_words(site: Console, change: dict[str, str], fault: str) -> None:
    form = {"once": "x", "result": "improved", "option": "", "on": TODAY.isoformat()}
    async with visiting(site.office()) as client:
        status, page = await posted(client, f"/cases/{key()}/outcome", {**form, **change})
    assert (status, fault in page) == (400, True), page
    assert site.outbox.waiting()[0] == 0


async def test_an_outcome_after_the_time_in_which_it_counts_is_refused(story: Tape, tmp_path: Path) -> None:
    with console(story, tmp_path / "console") as site:
        site.clock += 60 * 86_400
        closes = max(found.event.closes_at for found in site.cases.case(key()).happenings if found.kind == "recourse")
        last = datetime.fromisoformat(closes).date()
        form = {"once": "x", "result": "improved", "option": "1"}
        async with visiting(site.office()) as client:
            for day, status in ((last + timedelta(days=1), 400), (last, 200)):
                answer = await posted(client, f"/cases/{key()}/outcome", {**form, "on": day.isoformat()})
                assert (answer[0], "and not on this day" in answer[1]) == (status, status == 400), answer[1]
        [sent] = site.outbox.pending(key())
        assert sent.time_ms <= datetime.fromisoformat(closes).timestamp() * 1000


async def test_a_name_that_is_used_again_is_told_by_its_latest_application(tmp_path: Path) -> None:
    spec, topics, (_, anew) = load_spec(PACKAGED_SPECS / "loan.yaml").spec, Topics(), STATES["anew"]
    with closing(Console(topics, [spec], tmp_path / "console")) as site:
        stories = {(spec.program, "waits"): anew, (spec.program, "told"): [*anew, TWO]}
        site.store.fold(records(stories, topics))
        async with visiting(site.office()) as client:
            pages = [(await text_of(client, f"/cases/{KEYS.handle(*case)}"))[1] for case in stories]
    assert ["Enter what happened" in page for page in pages] == [False, True]
    assert "Without an answer" in pages[0]
    assert "Waits for an outcome" in pages[1]


async def test_an_outcome_of_what_is_counted_already_is_refused_in_words(tmp_path: Path) -> None:
    spec, topics, (_, closed) = load_spec(PACKAGED_SPECS / "loan.yaml").spec, Topics(), STATES["window over"]
    with closing(Console(topics, [spec], tmp_path / "console")) as site:
        site.store.fold(records({(spec.program, "a"): closed}, topics))
        async with visiting(site.office()) as client:
            form = {"once": "x", "result": "improved", "option": "", "on": TODAY.isoformat()}
            path = f"/cases/{KEYS.handle(spec.program, 'a')}/outcome"
            status, page = await posted(client, path, form)
    assert (status, "What came of their ways is counted already." in page) == (400, True)
    assert "Enter what happened" not in page


@pytest.fixture
def busy(story: Tape) -> Tape:
    story.applies("z", 3)
    story.decides("z", 4)
    story.fold("more")
    return story


async def test_a_queue_has_pages(busy: Tape, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("onward.streams.console.office.PAGE_ROWS", 1)
    with console(busy, tmp_path / "console") as site:
        async with visiting(site.office()) as client:
            pages = [(await text_of(client, f"/cases?queue=outcome&page={page}"))[1] for page in ("1", "2", "0", "x")]
    assert ["Page 1 of 2" in page for page in pages] == [True, False, True, True]
    assert [f"/cases/{key('z')}" in page for page in pages[:2]] != [f"/cases/{key()}" in page for page in pages[:2]]
    assert "page=2" in pages[0]


async def test_their_page_is_shown_for_a_reason_where_it_holds_hidden_values(site: Console) -> None:
    program, path = site.programs["loan"], f"/cases/{key()}"
    hidden = tuple(replace(feature, pii=feature.name == "income") for feature in program.spec.features)
    program.spec = replace(program.spec, features=hidden)
    async with visiting(site.office()) as client:
        for why in (None, " ", "they called"):
            asked = text_of(client, f"{path}/person") if why is None else posted(client, f"{path}/person", {"why": why})
            assert await _shows_income(asked) == (200, why == "they called")
        assert "read their page: they called" in (await text_of(client, path))[1]


async def _shows_income(asked: Awaitable[tuple[int, str]]) -> tuple[int, bool]:
    status, page = await asked
    return status, "€10,000" in page


async def test_hidden_values_are_shown_once_for_a_reason_and_that_is_kept(site: Console) -> None:
    program = site.programs["loan"]
    hidden = tuple(replace(feature, pii=feature.name in ("region", "income")) for feature in program.spec.features)
    program.spec = replace(program.spec, features=hidden)
    async with visiting(site.office()) as client:
        path = f"/cases/{key()}"
        _, page = await text_of(client, path)
        assert "north" not in page
        assert "Your income: hidden" in page
        assert "€10,000" not in page
        assert (await posted(client, f"{path}/reveal", {"why": " "}))[0] == 400
        _, page = await posted(client, f"{path}/reveal", {"why": "they called"})
        assert "north" in page
        assert "Your income: €10,000" in page
        _, page = await text_of(client, path)
    assert "north" not in page
    assert "saw hidden values: they called" in page


@pytest.mark.parametrize("page", ["reveal", "person", "json"])
async def test_no_hidden_value_is_shown_that_nobody_could_note(site: Console, page: str) -> None:
    program, path = site.programs["loan"], f"/cases/{key()}"
    hidden = tuple(replace(feature, pii=True) for feature in program.spec.features)
    program.spec = replace(program.spec, features=hidden)
    site.looks._db.execute("PRAGMA busy_timeout=0")
    async with visiting(site.office()) as client:
        with refusing(site, "locked"):
            if page == "json":
                told = await text_of(client, f"{path}.json")
            else:
                told = await posted(client, f"{path}/{page}", {"why": "they called"})
            assert told == (503, "This cannot be done just now. Try again in a minute.\n")
            assert (await text_of(client, path))[0] == 200, "what hides them is shown"
        if page == "reveal":
            assert "north" in (await posted(client, f"{path}/reveal", {"why": "they called"}))[1]


async def test_a_link_made_here_opens_their_page(site: Console) -> None:
    async with visiting(site.office()) as client:
        _, page = await posted(client, f"/cases/{key()}/link")
        token = re.search(r"https://pages\.example(/l/[^<]+)<", page)
        assert token
        assert "What you can do now" in (await text_of(client, f"/cases/{key()}/person"))[1]
    async with visiting(site.applicants()) as client:
        assert (await text_of(client, token[1]))[0] == 200


async def test_nobody_is_asked_on_this_machine_alone(site: Console) -> None:
    async with visiting(site.office()) as client:
        for host, status in (("evil.example:8091", 403), ("localhost:8091", 200), ("[::1]:8091", 200)):
            assert (await text_of(client, f"/cases/{key()}", headers={"Host": host}))[0] == status
        for proxied in (
            {"X-Forwarded-For": "203.0.113.9"},
            {"X-Forwarded-Proto": "https"},
            {"Forwarded": "for=203.0.113.9"},
            {"Via": "1.1 proxy"},
            {"X-Real-IP": "203.0.113.9"},
            {"Origin": "https://office.example"},
            {"Origin": "http://["},
        ):
            assert (await text_of(client, f"/cases/{key()}", headers=proxied))[0] == 403, proxied
        bad = {"Content-Type": "application/x-www-form-urlencoded; charset=none-such", **SAME_ORIGIN}
        assert (await posted(client, "/cases", {"q": "x"}, headers=bad))[0] == 400


async def test_a_user_sees_the_cases_of_their_programs_alone(site: Console, monkeypatch: pytest.MonkeyPatch) -> None:
    secret = generate_private_key(SECP256R1())
    keys = {"keys": [{**json.loads(ECAlgorithm.to_jwk(secret.public_key())), "kid": "1", "alg": "ES256"}]}

    def token(**change: Any) -> dict[str, str]:
        claims = {"sub": "kim", "iss": "proxy", "aud": "onward", "exp": time.time() + 60, "roles": ["case:loan"]}
        text = jwt.encode({**claims, **change}, secret, algorithm="ES256", headers={"kid": "1"})
        return {"Authorization": f"Bearer {text}"}

    gate = TokenGate("https://keys.example/", "proxy", "onward", "Authorization", "roles")
    monkeypatch.setattr(gate._keys, "fetch_data", lambda: keys)
    async with visiting(site.office(gate)) as client:
        for headers, status in [
            (token(), 200),
            (token(roles="case:* owner:loan"), 200),
            (token(roles=["case:another"]), 404),
            (token(roles=["owner:loan"]), 404),
            (token(aud="another"), 401),
            (token(iss="another"), 401),
            (token(exp=time.time() - 60), 401),
            ({"Authorization": "Bearer x.y.z"}, 401),
            ({}, 401),
        ]:
            assert (await text_of(client, f"/cases/{key()}", headers=headers))[0] == status
    assert [look.who for look in site.looks.of_case(key())] == ["kim"]


async def test_keys_of_a_proxy_that_cannot_be_had_are_said_once(
    site: Console, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    gate = TokenGate("http://127.0.0.1:1/keys", "proxy", "onward", "Authorization", "roles")

    def no_json() -> None:
        raise json.JSONDecodeError("no JSON", "", 0)

    faults: list[Any] = [None, no_json, lambda: {"keys": []}]
    async with visiting(site.office(gate)) as client:
        for fault in faults:
            if fault is not None:
                monkeypatch.setattr(gate._keys, "fetch_data", fault)
            for _ in range(2):
                told = await text_of(client, "/cases", headers={"Authorization": "Bearer x.y.z"})
                assert told == (503, "This cannot be done just now. Try again in a minute.\n")
        assert (await text_of(client, "/cases"))[0] == 401
    lines = [record.getMessage() for record in caplog.records if record.name.startswith("onward")]
    assert len(lines) == len(faults)
    assert all(line.startswith("nobody can sign in: the keys of --auth-jwks cannot be had: ") for line in lines)


async def test_what_if_is_asked_within_limits_and_keeps_nothing(site: Console, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []

    def answer(loaded: object, features: dict[str, Any], limits: Limits, manifest: str | None) -> None:
        asked.append((features, limits, manifest))

    monkeypatch.setattr("onward.streams.console.office.ways_within", answer)
    async with visiting(site.office()) as client:
        path = f"/cases/{key()}/whatif"
        assert "goes no farther than" in (await text_of(client, path))[1]
        form = {"fixed": "debts", "most-income": "30 000 €"}
        status, page = await posted(client, path, form)
        assert (status, "The model says yes to them as they are" in page) == (200, True)
        assert "has a dot" in (await posted(client, path, {"most-income": "30.000"}))[1]
    assert asked == [(POOR, Limits(frozenset({"debts"}), {"income": 30.0}), None)]
    assert site.outbox.waiting()[0] == 0


@pytest.fixture
def many(tmp_path: Path) -> Tape:
    """Forty people, of whom ten are approved and ten improve."""
    story = tape(tmp_path, decisions="external", **TIMED)
    for number in range(2 * FEWEST):
        story.applies(f"p{number}", number, RICH if number % 4 == 0 else POOR)
        story.decides(f"p{number}", number + 1, approved=number % 4 == 0)
        if number % 4:
            story.outcome(f"p{number}", MINUTE_MS + number, "improved" if number % 4 == 1 else "not_improved")
    story.fold()
    return story


async def test_a_programme_is_counted_and_small_groups_are_hidden(many: Tape, tmp_path: Path) -> None:
    with console(many, tmp_path / "console") as site:
        program = site.programs["loan"]
        audited = tuple(replace(feature, audit=feature.name == "region") for feature in program.spec.features)
        program.spec = replace(program.spec, features=audited)
        async with visiting(site.office()) as client:
            _, text = await text_of(client, "/programmes/loan.json")
            status, page = await text_of(client, "/programmes/loan")
            assert (await text_of(client, "/programmes/another"))[0] == 404
    figures = json.loads(text)
    assert (figures["applications"], figures["approved"], figures["rejected"]) == (40, 10, 30)
    assert figures["told"] == {"part": 30, "whole": 30}
    assert figures["improved"] == {"part": 10, "whole": 30}
    assert figures["groups"]["region"]["north"] == [{"part": 30, "whole": 30}, {"part": 10, "whole": 30}]
    assert (status, "10 of 30" in page) == (200, True)


@pytest.mark.parametrize(
    ("groups", "shown"),
    [
        ([(1, 3), (5, 25), (9, 90)], [None, None, 90]),
        ([(1, 1), (0, 1), (5, 25), (9, 90)], [None, None, None, 90]),
        ([(9, 90), (1, 12), (0, 9)], [90, None, None]),
        ([(0, 0), (5, 25), (9, 90)], [None, 25, 90]),
        ([(1, 3)], [None]),
        ([(5, 25), (9, 90)], [25, 90]),
    ],
)
def test_hidden_groups_hold_twenty_people_together(groups: list[tuple[int, int]], shown: list[int | None]) -> None:
    assert [share.whole for share in _without_hidden(groups)] == shown


async def test_what_is_hidden_does_not_follow_from_other_figures(story: Tape, site: Console) -> None:
    async with visiting(site.office()) as client:
        _, text = await text_of(client, "/programmes/loan.json")
        _, page = await text_of(client, "/programmes/loan")
    figures = json.loads(text)
    assert figures["rejected"] == 2
    hidden = {name: figures[name] for name in ("none", "fates", "silent")}
    assert hidden == dict.fromkeys(hidden)
    assert figures["told"] == figures["improved"] == {"part": None, "whole": None}
    assert "without a way forward" not in page


def test_an_application_that_was_sent_twice_counts_once_in_its_group(many: Tape, tmp_path: Path) -> None:
    for number in range(2 * FEWEST):
        many.applies(f"p{number}", number, RICH if number % 4 == 0 else POOR, id=f"again-{number}")
    many.fold("later")
    with console(many, tmp_path / "console") as site:
        spec = site.programs["loan"].spec
        audited = tuple(replace(feature, audit=feature.name == "region") for feature in spec.features)
        figures = Programmes(site.folder).figures(replace(spec, features=audited))
    assert figures.groups["region"]["north"][0] == Share(30, 30)

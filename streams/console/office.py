"""The site of the office: queues, one case with its story, an outcome, a link, and what was told them.

References of people are posted, and addresses name a case by its handle: no log of a proxy tells who asked.
"""

from __future__ import annotations

import asyncio
import re
import secrets
from collections.abc import Callable, Container, Iterator, Mapping, Sequence
from datetime import UTC, date, datetime
from typing import Any, Final

from aiohttp import web
from msgspec import structs
from yarl import URL

from ...schemas.events import Application, NoRecourse, Outcome, Recourse, Reward, Value
from ...schemas.headers import parse_time
from ...schemas.words.texts import LanguageTexts
from ..engine.rewards.fates import CLOSED
from ..errors import OnwardError
from ..printed_json import json_text
from ..replay.shown import shown_program
from .applicants import ONCE
from .cases import ConsoleCase, QueuedCase
from .desk import Desk
from .looks import Look
from .person import person_page
from .programmes import Programmes, page_of
from .programs import ConsoleProgram
from .standing import QUEUES, Queue
from .story import HIDDEN, Pending, day, say, story, way_line
from .web import form_of, html, make_site, see_other
from .whatif import LimitError, Limits, read_limit, warm_up, ways_within
from .who import SignInGate, User

LINK_DAYS = 90
TITLES: Final[Mapping[Queue, str]] = {
    "changed": "ways have changed",
    "question": "questions are open",
    "outcome": "wait for an outcome",
    "none": "have no way",
    "declined": "cannot use their ways",
}
PAGE = re.compile(r"[1-9][0-9]{0,5}")
RESULTS = ("improved", "not_improved", "unseen")
DAY_MS = 86_400_000
ERRORS = {
    401: "Sign in first.",
    403: "This form was not sent from here.",
    404: "This page is not here.",
    503: "This cannot be done just now. Try again in a minute.",
}
MOST = "most-"
"""How the names of fields begin that hold the limit of a feature."""
PAGE_ROWS = 100
"""Cases on a page of a queue."""


class Office:
    """The pages of case workers.

    Parameters
    ----------
    gate
        Says who sends a request.
    read_up_to
        When the topics had been read to their end, in words.
    people_at
        Where applicants see their site, for links to it.
    """

    def __init__(
        self, desk: Desk, figures: Programmes, gate: SignInGate, read_up_to: Callable[[], str], people_at: URL
    ) -> None:
        self._desk, self._figures, self._gate = desk, figures, gate
        self._read_up_to, self._people_at = read_up_to, people_at
        self._warm: dict[str, asyncio.Task[None]] = {}

    def site(self, address: URL | None = None) -> web.Application:
        """The web application."""
        routes = web.RouteTableDef()
        routes.get("/")(self._begin)
        routes.get("/cases")(self._queue)
        routes.post("/cases")(self._find)
        routes.get("/cases/{key}.json")(self._json)
        routes.get("/cases/{key}")(self._show)
        routes.get("/cases/{key}/person")(self._person)
        routes.post("/cases/{key}/person")(self._person)
        routes.get("/cases/{key}/whatif")(self._ask_what_if)
        routes.post("/cases/{key}/whatif")(self._what_if)
        routes.post("/cases/{key}/outcome")(self._outcome)
        routes.get("/programmes")(self._programmes)
        routes.get("/programmes/{name}.json")(self._programme_json)
        routes.get("/programmes/{name}")(self._programme)
        routes.post("/cases/{key}/link")(self._link)
        routes.post("/cases/{key}/reveal")(self._reveal)
        return make_site(routes, self._error_page, address)

    # --- queues and search ------------------------------------------------------------------------------------------

    async def _begin(self, _: web.Request) -> web.StreamResponse:
        return see_other("/cases")

    async def _queue(self, request: web.Request) -> web.StreamResponse:
        user = await self._gate.user(request)
        wanted = request.query.get("queue", QUEUES[0])
        queue = next((name for name in QUEUES if name == wanted), None)
        if queue is None:
            raise web.HTTPNotFound
        page = request.query.get("page", "1")
        return self._list(user, queue, request.query.get("program", ""), int(page) if PAGE.fullmatch(page) else 1)

    async def _find(self, request: web.Request) -> web.StreamResponse:
        user, form = await self._gate.user(request), await form_of(request)
        reference, program = str(form.get("q", "")).strip(), str(form.get("program", ""))
        found = [
            case
            for name in ([program] if program else self._desk.programs)
            if user.may("case", name) and (case := self._desk.cases.find(name, reference)) is not None
        ]
        if len(found) == 1:
            return see_other(f"/cases/{found[0].handle}")
        rows = [self._row(case.handle, case.program, case.application, case.state, "") for case in found]
        heading = f"{len(found)} cases" if found else "No case has this reference"
        return self._rendered_list(user, rows, heading, program=program, q=reference)

    def _list(self, user: User, queue: Queue, program: str, page: int) -> web.StreamResponse:
        names = [name for name in self._desk.programs if user.may("case", name) and program in ("", name)]
        waiting = sum(self._desk.cases.count(queue, name) for name in names)
        pages = max(1, -(-waiting // PAGE_ROWS))
        page = min(page, pages)
        cases = self._desk.cases.queued(queue, names, PAGE_ROWS, (page - 1) * PAGE_ROWS)
        rows = [self._queued_row(case) for case in cases]
        heading = TITLES[queue].capitalize()
        return self._rendered_list(user, rows, heading, queue=queue, program=program, page=page, pages=pages)

    def _rendered_list(
        self,
        user: User,
        rows: Sequence[object],
        heading: str,
        *,
        queue: str = "",
        program: str = "",
        q: str = "",
        page: int = 1,
        pages: int = 1,
    ) -> web.StreamResponse:
        names = [name for name in self._desk.programs if user.may("case", name)]
        counts = [
            (name, sum(self._desk.cases.count(name, of) for of in names if program in ("", of)), name == queue)
            for name in QUEUES
        ]
        return self._html(
            "cases.html",
            user,
            title="Cases",
            tab="cases",
            q=q,
            program=program,
            programs=names,
            queues=counts,
            titles=TITLES,
            heading=heading,
            rows=rows,
            queue=queue,
            page=page,
            pages=pages,
        )

    def _queued_row(self, case: QueuedCase) -> Mapping[str, str]:
        standing, due = case.standing, case.due_ms
        state = say("state.asked") if standing.queue == "question" else say("state.told")
        if standing.queue == "none":
            state = f"{say('state.none')}: {standing.reason}"
        return self._row(case.handle, case.program, case.application, state, "" if due is None else day(due))

    def _row(self, key: str, program: str, application: str, state: str, due: str) -> Mapping[str, str]:
        return {"key": key, "program": program, "application": application, "state": state, "due": due}

    # --- one case ---------------------------------------------------------------------------------------------------

    async def _json(self, request: web.Request) -> web.StreamResponse:
        user, case = await self._case(request)
        self._desk.looks.note(case.handle, user.name, "read the events", must=True)
        # A dead letter that names no program may be another's.
        own = [happening for happening in case.happenings if happening.program == case.program]
        text = json_text(shown_program(case.program, own))
        return web.Response(text=text, content_type="application/json")

    async def _show(self, request: web.Request) -> web.StreamResponse:
        user, case = await self._case(request)
        self._desk.looks.note(case.handle, user.name, "opened")
        return self._shown(user, case)

    async def _person(self, request: web.Request) -> web.StreamResponse:
        user, case = await self._case(request)
        program = self._desk.programs[case.program]
        why = await _reason_in(request)
        if not why and _tells_personal(program):
            return see_other(f"/cases/{case.handle}")
        self._desk.looks.note(case.handle, user.name, "read their page", why, must=True)
        words = program.in_language([request.query.get("lang", "")])
        page = person_page(self._desk.happenings(case), words, case.application, self._desk.now_ms, case.model)
        return html(self._desk.pages.person(page, words, reference=case.application, today_ms=self._desk.now_ms))

    async def _ask_what_if(self, request: web.Request) -> web.StreamResponse:
        user, case = await self._case(request)
        if case.program not in self._warm:
            loaded = self._desk.programs[case.program].loaded
            self._warm[case.program] = asyncio.create_task(asyncio.to_thread(warm_up, loaded))
        return self._asked_what_if(user, case, Limits(), {})

    async def _what_if(self, request: web.Request) -> web.StreamResponse:
        user, case = await self._case(request)
        form = await form_of(request)
        written = {name.removeprefix(MOST): str(text) for name, text in form.items() if name.startswith(MOST)}
        self._desk.looks.note(case.handle, user.name, "asked what if")
        program = self._desk.programs[case.program]
        texts = program.in_language([]).texts
        try:
            most = {name: read_limit(text, texts.times(name)) for name, text in written.items()}
        except LimitError as error:
            return self._asked_what_if(user, case, Limits(), written, {"title": str(error), "ways": ()})
        limits = Limits(
            frozenset(map(str, form.getall("fixed", []))),
            {name: value for name, value in most.items() if value is not None},
        )
        try:
            manifest = case.model.manifest if case.model else None
            answer = await asyncio.to_thread(ways_within, program.loaded, _told_features(case), limits, manifest)
        except OnwardError as error:
            return self._asked_what_if(user, case, limits, written, {"title": str(error), "ways": ()})
        return self._asked_what_if(user, case, limits, written, _result(answer, texts, _personal(program)))

    def _asked_what_if(
        self, user: User, case: ConsoleCase, limits: Limits, written: Mapping[str, str], result: Any = None
    ) -> web.StreamResponse:
        program = self._desk.programs[case.program]
        texts, given = program.in_language([]).texts, _told_features(case)
        rows = []
        for feature in program.spec.features:
            value = given.get(feature.name)
            if feature.may_change and value is not None:
                name, text = texts.name_and_value(feature.name, value)
                rows.append(
                    {
                        "feature": feature.name,
                        "name": name,
                        "value": HIDDEN if feature.pii else text,
                        "number": feature.bounds is not None,
                        "fixed": feature.name in limits.fixed,
                        "most": written.get(feature.name, ""),
                    }
                )
        return self._html(
            "whatif.html",
            user,
            title="What if?",
            tab="",
            key=case.handle,
            application=case.application,
            rows=rows,
            result=result,
        )

    async def _outcome(self, request: web.Request) -> web.StreamResponse:
        user, case = await self._case(request)
        form = await form_of(request)
        result, once = form.get("result"), str(form.get("once", ""))
        if not ONCE.fullmatch(once):
            raise web.HTTPBadRequest
        answer = _recourse_of(case)
        if answer is None or result not in RESULTS:
            return self._shown(user, case, error="Say what happened.", status=web.HTTPBadRequest.status_code)
        option = str(form.get("option") or "") or None
        told_ms, recourse = answer
        at_ms, fault = _event_time(str(form.get("on", "")), self._desk.now_ms, told_ms, recourse)
        if _is_closed(case):
            fault = "What came of their ways is counted already."
        if fault is None and option not in (None, *_ids(case)):
            fault = "Choose one of the ways that they were told."
        if fault is not None:
            return self._shown(user, case, error=fault, status=web.HTTPBadRequest.status_code)
        event = Outcome(case.program, case.application, result, None if result == "unseen" else option)
        self._desk.keep(case, event, once, at_ms, who=user.name, what="entered what happened")
        return see_other(f"/cases/{case.handle}")

    async def _link(self, request: web.Request) -> web.StreamResponse:
        user, case = await self._case(request)
        self._desk.looks.note(case.handle, user.name, "made a link")
        link = self._people_at / "l" / self._desk.links.token(case.handle, LINK_DAYS)
        return self._shown(user, case, link=str(link))

    async def _reveal(self, request: web.Request) -> web.StreamResponse:
        user, case = await self._case(request)
        why = await _reason_in(request)
        if not why:
            return self._shown(user, case, status=web.HTTPBadRequest.status_code)
        self._desk.looks.note(case.handle, user.name, "saw hidden values", why, must=True)
        return self._shown(user, case, is_revealed=True)

    def _shown(
        self,
        user: User,
        case: ConsoleCase,
        *,
        error: str | None = None,
        link: str | None = None,
        is_revealed: bool = False,
        status: int = 200,
    ) -> web.StreamResponse:
        program = self._desk.programs[case.program]
        words = program.in_language([])
        answer = _recourse_of(case)
        options = [] if answer is None else answer[1].options
        hidden = frozenset[str]() if is_revealed else _personal(program)
        return self._html(
            "case.html",
            user,
            title=f"Case {case.application}",
            tab="",
            status=status,
            key=case.handle,
            application=case.application,
            program=words.words.program.name,
            standing=_sentence(case.state),
            story=story(self._desk.happenings(case), words.texts, hidden),
            pending=_pending(case),
            can_report=answer is not None and not _is_closed(case),
            ways=[(option.id, way_line(option, words.texts, hidden)) for option in options],
            error=error,
            link=link,
            once=secrets.token_urlsafe(9),
            today=datetime.fromtimestamp(self._desk.now(), UTC).date().isoformat(),
            features=list(_features(case, program, words.texts.name_and_value, hidden)),
            masked=bool(hidden),
            asks_why=_tells_personal(program),
            looked=[_looked(look) for look in self._desk.looks.of_case(case.handle)],
        )

    # --- programmes -------------------------------------------------------------------------------------------------

    async def _programmes(self, request: web.Request) -> web.StreamResponse:
        user = await self._gate.user(request)
        names = [name for name in self._desk.programs if user.may("owner", name)]
        if not names:
            raise web.HTTPNotFound
        return see_other(f"/programmes/{names[0]}")

    async def _programme(self, request: web.Request) -> web.StreamResponse:
        user, program = await self._owned(request)
        figures = await asyncio.to_thread(self._figures.figures, program.spec)
        others = [name for name in self._desk.programs if user.may("owner", name) and name != program.name]
        return self._html(
            "programme.html",
            user,
            title=program.name,
            tab="programmes",
            program=program.in_language([]).words.program.name,
            others=others,
            **page_of(figures),
        )

    async def _programme_json(self, request: web.Request) -> web.StreamResponse:
        _, program = await self._owned(request)
        figures = await asyncio.to_thread(self._figures.figures, program.spec)
        return web.Response(text=json_text(figures), content_type="application/json")

    async def _owned(self, request: web.Request) -> tuple[User, ConsoleProgram]:
        """Who asks, and the programme; one 404 where it is not theirs, or not there."""
        user = await self._gate.user(request)
        program = self._desk.programs.get(request.match_info["name"])
        if program is None or not user.may("owner", program.name):
            raise web.HTTPNotFound
        return user, program

    async def _case(self, request: web.Request) -> tuple[User, ConsoleCase]:
        """Who asks, and the case; one 404 where it is not theirs, or not there."""
        user = await self._gate.user(request)
        case = self._desk.cases.case(request.match_info["key"])
        if case is None or case.program not in self._desk.programs or not user.may("case", case.program):
            raise web.HTTPNotFound
        return user, case

    def _html(self, template: str, user: User, *, title: str, status: int = 200, **given: Any) -> web.StreamResponse:
        page = self._desk.pages.office(template, title=title, user=user.name, read_up_to=self._read_up_to(), **given)
        return html(page, status)

    def _error_page(self, _: web.Request, status: int) -> web.StreamResponse:
        return web.Response(status=status, text=f"{ERRORS.get(status, 'This cannot be done.')}\n")


def _told_features(case: ConsoleCase) -> Mapping[str, Value | None]:
    """What the person told in their latest application."""
    told = [one.event for one in case.latest if isinstance(one.event, Application) and not one.refused]
    return told[-1].features if told else {}


def _personal(program: ConsoleProgram) -> frozenset[str]:
    """The features whose values are personal data."""
    return frozenset(feature.name for feature in program.spec.features if feature.pii)


def _tells_personal(program: ConsoleProgram) -> bool:
    """Whether ways may hold values of personal data."""
    return any(feature.pii and feature.mutable != "none" for feature in program.spec.features)


async def _reason_in(request: web.Request) -> str:
    """Why somebody wants to see hidden values, as they have posted it; nothing where they have not."""
    return " ".join(str((await form_of(request)).get("why", "")).split())[:200]


def _result(answer: Recourse | NoRecourse | None, texts: LanguageTexts, hidden: Container[str]) -> Mapping[str, Any]:
    """An answer to a what-if, as the page shows it."""
    if answer is None:
        return {"title": "The model says yes to them as they are", "ways": ()}
    if isinstance(answer, NoRecourse):
        return {"title": f"No way within these limits: {answer.detail}", "ways": ()}
    ways = []
    for option in answer.options:
        told = []
        for change in option.changes:
            parts = texts.told(change)
            now, to = (HIDDEN, HIDDEN) if change.feature in hidden else (parts.now or "", parts.to)
            told.append({"name": parts.name, "now": now, "to": to})
        ways.append({"which": f"Way {option.id}", "heading": texts.heading(option.changes), "changes": told})
    return {"title": "Within these limits", "ways": ways}


def _recourse_of(case: ConsoleCase) -> tuple[int, Recourse] | None:
    """The recourse of a case with its newest ways, and when it was first told; None where it has none."""
    told = [(one.time_ms, one.event) for one in case.latest if isinstance(one.event, Recourse)]
    since = max((place for place, (_, event) in enumerate(told) if not event.is_revision), default=0)
    if not told:
        return None
    time_ms, first = told[since]
    ways = {option.id: option for _, event in told[since:] for option in event.options}
    return time_ms, structs.replace(first, options=tuple(ways.values()), expires_at=told[-1][1].expires_at)


def _is_closed(case: ConsoleCase) -> bool:
    """Whether what came of the recourse has been counted."""
    return any(isinstance(one.event, Reward) and one.event.fate in CLOSED for one in case.latest)


def _ids(case: ConsoleCase) -> set[str]:
    """The ways that a case was told."""
    return {option.id for one in case.latest if isinstance(one.event, Recourse) for option in one.event.options}


def _event_time(on: str, now_ms: int, told_ms: int, recourse: Recourse) -> tuple[int, str | None]:
    """The event time of an outcome on a day, the end of it or now; and why there can be none."""
    try:
        chosen = date.fromisoformat(on)
    except ValueError:
        return 0, "Say on which day, as in 2026-11-28."
    begins = datetime.combine(chosen, datetime.min.time(), UTC)
    begins_ms = round(begins.timestamp() * 1000)
    ends_ms = begins_ms + DAY_MS - 1
    if begins_ms > now_ms:
        return 0, "This day is still to come."
    closes_ms = ends_ms if recourse.closes_at is None else parse_time(recourse.closes_at.encode())
    if begins_ms > closes_ms:
        return 0, f"What happened counted until {day(closes_ms)}, and not on this day."
    at_ms = min(ends_ms, now_ms, closes_ms)
    if at_ms <= told_ms:
        return 0, f"They were told their ways on {day(told_ms)}: it cannot have happened before."
    return at_ms, None


def _pending(case: ConsoleCase) -> Pending | None:
    state = case.state
    answer = _recourse_of(case)
    if not state.startswith("waits for an outcome") or answer is None:
        return Pending("", say("state.waits")) if state.startswith("without an answer") else None
    ends = answer[1].expires_at or answer[1].closes_at
    when = "" if ends is None else f"Until {day(parse_time(ends.encode()))}"
    return Pending(when, "Waits for an outcome")


def _features(
    case: ConsoleCase,
    program: ConsoleProgram,
    in_words: Callable[[str, Value], tuple[str, str]],
    hidden: Container[str],
) -> Iterator[tuple[str, str, bool]]:
    """What the person told, feature by feature: name, value, and whether it is hidden."""
    given = _told_features(case)
    for feature in program.spec.features:
        value = given.get(feature.name)
        if value is not None:
            yield (*in_words(feature.name, value), feature.name in hidden)


def _looked(look: Look) -> str:
    times = f" ({look.times} times)" if look.times > 1 else ""
    why = f": {look.why}" if look.why else ""
    return f"{look.who}, {look.day}: {look.what}{why}{times}"


def _sentence(text: str) -> str:
    return f"{text[:1].upper()}{text[1:]}."

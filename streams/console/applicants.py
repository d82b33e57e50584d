"""The site of the applicants: a link opens the page of one case, and what they choose goes to its topic.

GET /l/TOKEN shows a button and opens nothing: programs that look at links in mails follow them. POST /l/TOKEN sets the
cookie. No address but the link's names anything of a case, and nothing is logged.
"""

from __future__ import annotations

import asyncio
import re
import secrets
import time
from collections.abc import Sequence
from typing import NamedTuple

import msgspec
from aiohttp import web
from msgspec import UNSET
from yarl import URL

from ...schemas.events import Answer
from ..replay.happenings import Happening
from ..replay.history import since_latest
from .cases import ConsoleCase
from .desk import Desk
from .links import SESSION_SECONDS, PageLink
from .page_words import PageWords
from .person import PersonPage, person_page
from .programs import ConsoleProgram, accepted_languages
from .web import form_of, html, make_site, see_other

COOKIE = "__Host-onward"
LANGUAGE_COOKIE = "onward-language"
HOLD_SECONDS, LOOK_SECONDS = 5.0, 0.1
"""How long a page waits for what an answer brings, and how often it looks."""
MOST_AN_HOUR = 30
HOUR_MS = 3_600_000
ERRORS = {
    web.HTTPBadRequest.status_code: ("error.title", "error.form"),
    web.HTTPUnauthorized.status_code: ("closed.title", "left.text"),
    web.HTTPForbidden.status_code: ("error.title", "error.form"),
    web.HTTPRequestEntityTooLarge.status_code: ("error.title", "error.form"),
    web.HTTPTooManyRequests.status_code: ("often.title", "often.text"),
    web.HTTPServiceUnavailable.status_code: ("often.title", "busy.text"),
    web.HTTPInternalServerError.status_code: ("error.title", "ask.text"),
}
"""The sentences of errors; others say that the page is not here."""
ONCE = re.compile(r"[A-Za-z0-9_-]{1,40}")


class _Opened(NamedTuple):
    """The case of a session, in the language of its person, and their page."""

    case: ConsoleCase
    program: ConsoleProgram
    words: PageWords
    page: PersonPage


class ApplicantPages:
    """The pages of the applicants of some programs, which browsers see at ``address`` where a proxy stands before."""

    def __init__(self, desk: Desk, address: URL | None = None) -> None:
        self._desk, self._address = desk, address

    def site(self) -> web.Application:
        """The web application."""
        routes = web.RouteTableDef()
        routes.get("/l/{token}")(self._continue)
        routes.post("/l/{token}")(self._open)
        routes.get("/you")(self._you)
        routes.get("/you.json")(self._you_json)
        routes.post("/you/answer")(self._answer)
        routes.post("/you/leave")(self._leave)
        routes.get("/left")(self._left)
        return make_site(routes, self._error_page, self._address)

    async def _continue(self, request: web.Request) -> web.StreamResponse:
        words = self._words(request, self._case_of(self._linked(request)))
        title = words.say("continue.title", organisation=str(words.words.organisation.name))
        action = f"/l/{request.match_info['token']}"
        return html(self._desk.pages.plain(words, title, [words.say("continue.text")], action))

    async def _open(self, request: web.Request) -> web.StreamResponse:
        link = self._linked(request)
        self._case_of(link)
        response = see_other("/you")
        response.set_cookie(
            COOKIE,
            self._desk.links.session(link),
            max_age=SESSION_SECONDS,
            secure=True,
            httponly=True,
            samesite="Strict",
            path="/",
        )
        self._desk.looks.note(link.handle, "applicant", "opened their page")
        return response

    async def _you(self, request: web.Request) -> web.StreamResponse:
        opened = await self._held(request)
        case, program, words, page = opened
        if "late" in request.query and page.state != "working":
            page = msgspec.structs.replace(page, is_refused=True)
        text = self._desk.pages.person(
            page,
            words,
            reference=case.application,
            today_ms=self._desk.now_ms,
            languages=list(program.languages.values()),
            once=f"{secrets.token_urlsafe(9)}.{page.fingerprint}",
        )
        response = html(text)
        if request.query.get("lang"):
            response.set_cookie(LANGUAGE_COOKIE, words.tag, httponly=True, samesite="Strict", path="/")
        return response

    async def _you_json(self, request: web.Request) -> web.StreamResponse:
        page = (await self._held(request)).page
        return web.Response(body=msgspec.json.encode(page), content_type="application/json")

    async def _answer(self, request: web.Request) -> web.StreamResponse:
        opened, form = self._opened(request), await form_of(request)
        option, question = form.get("option"), form.get("question")
        handle = opened.case.handle
        if self._desk.outbox.count_since(handle, self._desk.now_ms - HOUR_MS) >= MOST_AN_HOUR:
            raise web.HTTPTooManyRequests
        if isinstance(question, str):
            asked = opened.page.question
            if asked is None or question != str(asked.number):
                is_repeated = _has_answered(self._desk.happenings(opened.case), question, option)
                return see_other("/you" if is_repeated else "/you?late=1")
            if not isinstance(option, str):
                return self._asked_again(opened)
            once = f"question-{asked.number}-{_applied_ms(opened.case)}"
            self._keep(opened, option, asked.number, [plan.id for plan in asked.plans], once)
        else:
            once, _, seen = str(form.get("once", "")).partition(".")
            if not isinstance(option, str) or not ONCE.fullmatch(once):
                raise web.HTTPBadRequest
            # A program may send a `once` of its own.
            if seen not in ("", opened.page.fingerprint) or (opened.page.ways and not opened.page.may_choose):
                return see_other("/you?late=1")
            self._keep(opened, option, None, [way.id for way in opened.page.ways], f"{once}-{option or 'none'}")
        return see_other("/you")

    def _keep(self, opened: _Opened, option: str, question: int | None, ids: Sequence[str], once: str) -> None:
        """Keep an answer; the same form counts once."""
        if option not in ("", *ids):
            raise web.HTTPBadRequest
        case = opened.case
        event = Answer(case.program, case.application, option or None, UNSET if question is None else question)
        self._desk.keep(case, event, once, self._desk.now_ms, who="applicant", what="answered")

    def _asked_again(self, opened: _Opened) -> web.StreamResponse:
        """The question once more, since nothing was chosen."""
        text = self._desk.pages.person(
            opened.page,
            opened.words,
            reference=opened.case.application,
            today_ms=self._desk.now_ms,
            languages=list(opened.program.languages.values()),
            once="",
            error=opened.words.say("question.wrong"),
        )
        return html(text, web.HTTPBadRequest.status_code)

    async def _leave(self, request: web.Request) -> web.StreamResponse:
        response = see_other("/left")
        response.del_cookie(COOKIE, path="/", secure=True, httponly=True, samesite="Strict")
        return response

    async def _left(self, request: web.Request) -> web.StreamResponse:
        words = self._words(request)
        return html(self._desk.pages.plain(words, words.say("left.title"), [words.say("left.text")]))

    # --- who is it? -------------------------------------------------------------------------------------------------

    def _linked(self, request: web.Request) -> PageLink:
        """The link of an address; one 404 for each that does not work."""
        link = self._desk.links.read(request.match_info["token"])
        if link is None or self._desk.looks.is_revoked(link):
            raise web.HTTPNotFound
        return link

    def _case_of(self, link: PageLink) -> ConsoleCase:
        case = self._desk.cases.case(link.handle)
        if case is None or case.program not in self._desk.programs:
            raise web.HTTPNotFound
        return case

    def _opened(self, request: web.Request) -> _Opened:
        """The case of the session, with what its person has sent that the journal does not show yet."""
        link = self._desk.links.in_session(request.cookies.get(COOKIE, ""))
        if link is None:
            raise web.HTTPUnauthorized
        if self._desk.looks.is_revoked(link):
            raise web.HTTPNotFound
        case = self._case_of(link)
        words = self._words(request, case)
        page = person_page(self._desk.happenings(case), words, case.application, self._desk.now_ms, case.model)
        return _Opened(case, self._desk.programs[case.program], words, page)

    async def _held(self, request: web.Request) -> _Opened:
        """The same, once an answer to a question has brought something; after five seconds as it is."""
        until = time.monotonic() + HOLD_SECONDS
        opened = self._opened(request)
        while opened.page.state == "working" and time.monotonic() < until:
            await asyncio.sleep(LOOK_SECONDS)
            opened = self._opened(request)
        return opened

    def _words(self, request: web.Request, case: ConsoleCase | None = None) -> PageWords:
        wanted = [request.query.get("lang", ""), request.cookies.get(LANGUAGE_COOKIE, "")]
        wanted += accepted_languages(request.headers.get("Accept-Language", ""))
        program = next(iter(self._desk.programs.values())) if case is None else self._desk.programs[case.program]
        return program.in_language([tag for tag in wanted if tag])

    def _error_page(self, request: web.Request, status: int) -> web.StreamResponse:
        words = self._words(request)
        title, text = ERRORS.get(status, ("gone.title", "gone.text"))
        return html(self._desk.pages.plain(words, words.say(title), [words.say(text)]), status)


def _has_answered(happenings: Sequence[Happening], question: str, option: object) -> bool:
    """Whether somebody has given this answer to a question before, as by a second press of the button."""
    answers = (one.event for one in since_latest(happenings) if isinstance(one.event, Answer) and not one.refused)
    return any((str(answer.question), answer.option or "") == (question, option) for answer in answers)


def _applied_ms(case: ConsoleCase) -> int:
    """When the latest application of the name was sent: its questions count anew."""
    return max((one.time_ms for one in case.happenings if one.kind == "application"), default=0)

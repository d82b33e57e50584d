"""``onward console``: pages for applicants and case workers, links to them, and letters."""

from __future__ import annotations

import asyncio
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import closing
from datetime import timedelta
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated, Self

from pydantic import Field, model_validator
from pydantic_settings import CliPositionalArg, CliToggleFlag
from yarl import URL

from ..durations import milliseconds
from ..errors import DamagedLedgerError, LedgerError, UsageError
from ..kafka.connection import connection
from ..kafka.connection import topics as topic_names
from ..printable import printable
from ..programs.spec_check import load_program_spec, load_spec_of
from ..settings import BrokerSettings, FlagSettings
from ..settings.fields import Folder, Metavar, Paths
from .flags.actions import run_action
from .flags.parsing import parse_settings

USAGE = """usage: onward console ACTION [FLAGS]

Pages for the people of a program, in their languages, and for those who work on its cases. The pages' words stand
beside the spec; the extra onward[console] is needed.

actions:
  serve   Serve the pages: one port for applicants, another for the office.
  link    Print links for applicants, for letters and mails.
  letter  Print the letter of one application as an HTML file.
  words   Draft what the words of a spec lack before pages can be served, or say it."""
AT_ONCE = "-"
"""In the place of an application: names come from standard input, a line each."""


class ServeSettings(BrokerSettings):
    """Settings of ``onward console serve``."""

    spec: Annotated[Paths, Metavar("FILE")] = Field(
        min_length=1, description="Program spec (YAML) with words; repeat the flag for each program."
    )
    state_dir: Folder = Field(description="Folder of the console: what it knows of cases, and its keys.")
    host: str = Field("127.0.0.1", description="Address to serve the applicants' pages on.")
    port: int = Field(8090, ge=0, le=65_535, description="Port of the applicants' pages; 0 takes a free one.")
    office_host: str = Field("127.0.0.1", description="Address to serve the office's pages on.")
    office_port: int = Field(8091, ge=0, le=65_535, description="Port of the office's pages; 0 takes a free one.")
    address: str | None = Field(None, description="Where browsers see the applicants' pages, behind a proxy: a URL.")
    simulated: bool = Field(False, description="Say on each page that its people are made up.")
    backup: str | None = Field(
        None,
        description="Where a copy of the file goes once a day: a folder, or an fsspec address. It holds the keys, too.",
    )
    keep: timedelta | None = Field(
        None, gt=timedelta(0), description="How long cases are kept after their end, as in P400D; for ever when absent."
    )
    auth_jwks: str | None = Field(None, description="Address of the keys (JWKS) of the proxy that signs users in.")
    auth_issuer: str | None = Field(None, description="Issuer that its tokens must name.")
    auth_audience: str | None = Field(None, description="Audience that its tokens must name.")
    auth_header: str = Field(
        "Authorization", pattern=r"^[A-Za-z0-9_-]+$", description="Header of requests that holds the token."
    )
    auth_roles: str = Field("roles", description="Claim that lists roles: case:PROGRAM, owner:PROGRAM; * for all.")

    @model_validator(mode="after")
    def _is_guarded(self) -> Self:
        from ..console.who import is_loopback

        named = (self.auth_jwks, self.auth_issuer, self.auth_audience)
        if None in named and named != (None, None, None):
            raise ValueError("auth_jwks, auth_issuer and auth_audience belong together: give all or none")
        if self.auth_jwks is None and not is_loopback(self.office_host):
            raise ValueError(
                f"office_host {self.office_host} is seen by other machines, and nobody is asked who they are: give "
                "auth_jwks, auth_issuer and auth_audience, or leave office_host out"
            )
        return self


class LinkSettings(FlagSettings):
    """Settings of ``onward console link``."""

    application: CliPositionalArg[str] = Field(
        min_length=1, max_length=200, description="Name of the application; - reads names from standard input."
    )
    program: str = Field(description="Its program.")
    state_dir: Folder = Field(description="Folder of the console.")
    days: int = Field(90, ge=1, le=3650, description="How long the links work.")
    revoke: CliToggleFlag[bool] = Field(False, description="Take back all links that were made until now.")
    address: str = Field("http://127.0.0.1:8090", description="Where browsers see the applicants' pages: a URL.")


class LetterSettings(FlagSettings):
    """Settings of ``onward console letter``."""

    application: CliPositionalArg[str] = Field(min_length=1, max_length=200, description="Name of the application.")
    program: str = Field(description="Its program.")
    state_dir: Folder = Field(description="Folder of the console.")
    spec: Annotated[Paths, Metavar("FILE")] = Field(min_length=1, description="Program spec (YAML) with words.")
    language: str | None = Field(
        None, description="Language of the letter; when absent English, or the first that the program has."
    )
    as_json: bool = Field(False, validation_alias="json", description="Print what it says as one JSON object.")


class WordsSettings(FlagSettings):
    """Settings of ``onward console words``."""

    spec: CliPositionalArg[Path] = Field(description="Program spec (YAML).")
    language: Annotated[str | None, Metavar("TAG")] = Field(
        None, description="Draft the words of this language alone, such as de or ar: also of a new one."
    )
    check: CliToggleFlag[bool] = Field(
        False, description="Write nothing: say what the words lack; exit code 2 when that is anything."
    )

    @model_validator(mode="after")
    def _drafts_or_checks(self) -> Self:
        if self.check and self.language is not None:
            raise ValueError("--check looks at all languages: leave --language out")
        return self


def run(args: Sequence[str]) -> int:
    """Run the action that the first argument names."""
    if not args:
        raise UsageError("say what is to be done: serve, link, letter or words (see `onward console --help`)")
    check_extra("onward console")
    actions = {"serve": _serve, "link": _link, "letter": _letter, "words": _words}
    try:
        return run_action("console", USAGE, actions, args)
    except DamagedLedgerError as error:
        raise LedgerError(
            f"the console's file is damaged ({error.damage}): move console.sqlite* of --state-dir away, and start it "
            "again: it comes back from --backup, or from what the topics still hold"
        ) from None


def check_extra(command: str) -> None:
    """Raise ``UsageError`` where a package is missing that only pages need."""
    if not all(map(find_spec, ("itsdangerous", "jwt"))):
        raise UsageError(f"{command} needs more packages: pip install 'onward[console]'")


def _serve(args: Sequence[str]) -> int:
    settings = parse_settings(ServeSettings, "onward console serve", "Serve the pages until a signal ends it.", args)
    from ..console.programs import console_programs
    from ..console.serve import Sites, serve_console
    from ..console.upkeep import Backup
    from ..console.who import OpenGate, TokenGate

    programs = console_programs([load_program_spec(path) for path in settings.spec])
    address = None if settings.address is None else _url("--address", settings.address)
    sites = Sites(settings.host, settings.port, settings.office_host, settings.office_port, address)
    gate: OpenGate | TokenGate = OpenGate()
    if settings.auth_jwks is not None and settings.auth_issuer is not None and settings.auth_audience is not None:
        gate = TokenGate(
            str(_url("--auth-jwks", settings.auth_jwks)),
            settings.auth_issuer,
            settings.auth_audience,
            settings.auth_header,
            settings.auth_roles,
        )
    serving = serve_console(
        connection(settings),
        topic_names(settings),
        settings.state_dir,
        programs,
        sites,
        gate,
        is_simulated=settings.simulated,
        backup=None if settings.backup is None else Backup(settings.backup),
        keep_ms=None if settings.keep is None else milliseconds(settings.keep),
        told=lambda people, office: print(f"applicants {people}\noffice {office}", flush=True),
    )
    asyncio.run(serving)
    return 0


def _link(args: Sequence[str]) -> int:
    settings = parse_settings(LinkSettings, "onward console link", "Print links for applicants.", args)
    from ..console.cases import Cases
    from ..console.handles import keys_of
    from ..console.links import Links
    from ..console.looks import Looks

    keys = keys_of(settings.state_dir, is_new=False)
    links, address = Links(keys), _url("--address", settings.address)
    unread: list[int] = []
    for name in _names(settings.application, unread):
        handle = keys.handle(settings.program, name)
        with closing(Cases(settings.state_dir, keys)) as cases:
            if cases.case(handle) is None:
                unknown = f"nothing is known of {printable(name)} in {printable(settings.program)}"
                print(f"{unknown}: its links work once its application was read", file=sys.stderr)
        if settings.revoke:
            with closing(Looks(settings.state_dir)) as looks:
                looks.revoke(handle)
            print(f"links to {printable(name)} of {settings.program} that were made until now work no more")
        elif settings.application == AT_ONCE:
            print(f"{printable(name)}\t{address / 'l' / links.token(handle, settings.days)}")
        else:
            print(address / "l" / links.token(handle, settings.days))
    if unread:
        numbers = ", ".join(map(str, unread))
        raise UsageError(f"names that are not UTF-8 have no link; they stand in these lines: {numbers}")
    return 0


def _letter(args: Sequence[str]) -> int:
    settings = parse_settings(LetterSettings, "onward console letter", "Print the letter of one application.", args)
    from msgspec import json

    from ..console.cases import Cases
    from ..console.handles import keys_of
    from ..console.pages import Pages
    from ..console.person import person_page
    from ..console.programs import ConsoleProgram

    program = ConsoleProgram(load_spec_of(settings.program, settings.spec))
    language = settings.language or ("en" if "en" in program.languages else next(iter(program.languages)))
    if language not in program.languages:
        known = ", ".join(program.languages)
        raise UsageError(f"--language {language}: the program has no such words, only {known}")
    with closing(Cases(settings.state_dir, keys_of(settings.state_dir, is_new=False))) as cases:
        case = cases.find(settings.program, settings.application)
    if case is None:
        raise UsageError(f"nothing is known of application {settings.application!r} of {settings.program!r}")
    words = program.languages[language]
    page = person_page(case.happenings, words, case.application, time.time_ns() // 1_000_000, case.model)
    if settings.as_json:
        print(json.encode(page).decode())
        return 0
    if page.state in ("question", "working"):
        raise UsageError(
            f"there is no letter for application {settings.application!r} yet: who is asked a question answers it on "
            "their page; send a link (onward console link), or write when they have their answer"
        )
    today_ms = time.time_ns() // 1_000_000
    print(Pages().person(page, words, reference=case.application, today_ms=today_ms, is_letter=True))
    return 0


def _words(args: Sequence[str]) -> int:
    settings = parse_settings(WordsSettings, "onward console words", "Draft the words that pages need.", args)
    # Imported late: the other actions need no drafts.
    from .process.console_words import SERVED, draft_words, lacking_words

    if not settings.check:
        draft_words(settings.spec, settings.language)
        return 0
    lacks = lacking_words(settings.spec)
    for lack in lacks:
        print(printable(lack), file=sys.stderr)
    if not lacks:
        print(f"{settings.spec}: {SERVED}")
    return UsageError.exit_code if lacks else 0


def _names(application: str, unread: list[int]) -> Iterator[str]:
    """The names to make links for; the numbers of lines that are not UTF-8 go to ``unread``."""
    if application != AT_ONCE:
        yield application
        return
    for number, line in enumerate(sys.stdin.buffer, start=1):
        try:
            name = line.decode().rstrip("\r\n")
        except UnicodeDecodeError:
            unread.append(number)
            continue
        if name:
            yield name


def _url(flag: str, address: str) -> URL:
    try:
        url = URL(address)
        is_one = url.scheme in ("http", "https") and bool(url.host)
    except ValueError:
        is_one = False
    if not is_one:
        raise UsageError(f"{flag} {printable(address)}: give a URL, as in https://pages.example")
    return url

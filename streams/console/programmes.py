"""A programme's figures for its owners: who has a way, who improved, by week, by reason, and by group.

They are counted at most once a minute, from where each case stands. Of fewer than 20 people no share is told. Beside
such a group the smallest of the others are hidden, too, until 20 people are: the sum tells no more than theirs.
"""

from __future__ import annotations

import sqlite3
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path
from threading import Lock
from typing import Any

import msgspec
from msgspec import Struct

from ...schemas.kinds import kinds
from ...schemas.spec import ProgramSpec
from ..ledger.file import connected, ledger_errors
from .case_store import FILE
from .standing import Standing
from .story import day

FEWEST = 20
"""People of whom a share is told."""
KEPT_SECONDS = 60.0
WEEKS = 12
"""The latest weeks that are told."""
_unpack = msgspec.msgpack.Decoder(Standing).decode


class Share(Struct, frozen=True):
    """How many of some people; both None where they are too few to be told."""

    part: int | None
    whole: int | None


class Figures(Struct, frozen=True):
    """The figures of a programme.

    ``none`` counts people without a way by reason, ``picks`` who would take which way, ``fates`` how recourses ended,
    ``promises`` how promises did. ``none`` is None where ``told`` is hidden, ``fates`` and ``silent`` are where
    ``improved`` is: the one would tell the other. ``weeks`` has by the day on which a week begins who of the rejected
    has a way, and who of those whose time is over improved; ``groups`` by feature and group the same.
    """

    applications: int
    approved: int
    rejected: int
    told: Share
    improved: Share
    silent: int | None
    none: dict[str, int] | None
    picks: dict[str, int]
    fates: dict[str, int] | None
    promises: dict[str, int]
    weeks: dict[str, tuple[Share, Share]]
    groups: dict[str, dict[str, tuple[Share, Share]]]


class Programmes:
    """Counts the figures of programmes from a console's file, each at most once a minute."""

    def __init__(self, folder: Path, now: Callable[[], float] = time.monotonic) -> None:
        self._path, self._now, self._lock = folder / FILE, now, Lock()
        self._counted: dict[str, tuple[float, Figures]] = {}

    def figures(self, spec: ProgramSpec) -> Figures:
        """The figures of a program. Takes seconds where there are a million cases. Raises ``LedgerError``."""
        with self._lock:
            at, kept = self._counted.get(spec.program, (0.0, None))
            if kept is not None and self._now() - at < KEPT_SECONDS:
                return kept
            with ledger_errors(self._path), closing(connected(self._path, "mode=ro")) as db:
                figures = _counted(db, spec)
            self._counted[spec.program] = self._now(), figures
            return figures


class _Tally:
    """Two shares: who has a way of those rejected, and who improved of those whose time is over."""

    def __init__(self) -> None:
        self.rejected = self.told = self.ended = self.improved = 0

    def add(self, standing: Standing) -> None:
        is_told, has_ended = standing.told_ms >= 0, standing.closed_ms >= 0 and standing.fate != "unseen"
        self.rejected += is_told or standing.none_ms >= 0
        self.told += is_told
        self.ended += has_ended
        self.improved += has_ended and standing.improved

    @property
    def told_of_rejected(self) -> tuple[int, int]:
        return self.told, self.rejected

    @property
    def improved_of_ended(self) -> tuple[int, int]:
        return self.improved, self.ended


def _counted(db: sqlite3.Connection, spec: ProgramSpec) -> Figures:
    every, weeks = _Tally(), defaultdict[str, _Tally](_Tally)
    none, picks, fates, promises = (Counter[str]() for _ in range(4))
    applications = approved = 0
    for (body,) in db.execute("SELECT standing FROM cases WHERE program = ?", (spec.program,)):
        standing = _unpack(body)
        applications += 1
        approved += standing.approved_ms >= 0
        every.add(standing)
        if standing.applied_ms >= 0:
            weeks[_week(standing.applied_ms)].add(standing)
        if standing.none_ms >= 0 and standing.told_ms < 0:
            none[standing.reason] += 1
        if standing.answered_ms >= 0:
            picks[standing.picked or "none"] += 1
        if standing.fate:
            fates[standing.fate] += 1
        if standing.promise:
            promises[standing.promise] += 1
    [(told, improved)] = _shares({"": every}).values()
    return Figures(
        applications,
        approved,
        every.rejected,
        told,
        improved,
        None if improved.whole is None else fates["censored"],
        None if told.whole is None else dict(none.most_common()),
        dict(sorted(picks.items())),
        None if improved.whole is None else dict(fates.most_common()),
        dict(promises.most_common()),
        _shares({week: weeks[week] for week in sorted(weeks)[-WEEKS:]}),
        dict(_groups(db, spec)),
    )


def _groups(db: sqlite3.Connection, spec: ProgramSpec) -> Iterator[tuple[str, dict[str, tuple[Share, Share]]]]:
    audited = [feature.name for feature in spec.features if feature.audit]
    if not audited:
        return
    tallies = {name: defaultdict[str, _Tally](_Tally) for name in audited}
    decode = kinds["application"].decode
    rows = db.execute(
        # One a case, the latest.
        "SELECT c.standing, h.body, max(h.time_ms) FROM cases c JOIN happenings h ON h.case_id = c.id "
        "WHERE c.program = ? AND h.kind = 'application' GROUP BY c.id",
        (spec.program,),
    )
    for body, application, _ in rows:
        standing, features = _unpack(body), decode(application).features
        for name, groups in tallies.items():
            value = features.get(name)
            groups["not given" if value is None else str(value)].add(standing)
    for name, groups in tallies.items():
        yield name, _shares(dict(sorted(groups.items())))


def _shares(tallies: Mapping[str, _Tally]) -> dict[str, tuple[Share, Share]]:
    """Both shares of each group, but for what is hidden."""
    told = _without_hidden([tally.told_of_rejected for tally in tallies.values()])
    improved = _without_hidden([tally.improved_of_ended for tally in tallies.values()])
    return dict(zip(tallies, zip(told, improved, strict=True), strict=True))


def _without_hidden(shares: Sequence[tuple[int, int]]) -> list[Share]:
    """The shares that can be told, the smallest hidden until those that are hold ``FEWEST`` people together."""
    told = [Share(*share) for share in shares]
    people = 0
    for place in sorted(range(len(shares)), key=lambda place: shares[place][1]):
        whole = shares[place][1]
        if whole >= FEWEST and (people == 0 or people >= FEWEST):
            break
        people += whole
        told[place] = Share(None, None)
    return told


def _week(time_ms: int) -> str:
    """The Monday of a time's week, of UTC."""
    date = datetime.fromtimestamp(time_ms / 1000, UTC).date()
    return (date - timedelta(days=date.weekday())).isoformat()


def page_of(figures: Figures) -> Mapping[str, Any]:
    """What the page of a programme shows."""
    told, improved = figures.told, figures.improved
    numbers: list[tuple[str, str, str]] = [
        ("Applications", f"{figures.applications:,}", f"{figures.approved:,} approved"),
        ("Rejected and answered", f"{figures.rejected:,}", _told_of(figures.none, "without a way forward")),
        ("Improved", _in_words(improved), _told_of(figures.silent, "without any news count as not")),
        ("Have a way", _in_words(told), ""),
    ]
    weeks = [(day(_ms_of(week)), *shares) for week, shares in figures.weeks.items()]
    tables = [
        _table("Is it working?", "By the week of the application.", "Week from", weeks),
        *(
            _table(f"For whom: {name}", "By group.", "Group", [(group, *shares) for group, shares in groups.items()])
            for name, groups in figures.groups.items()
        ),
    ]
    counts = (
        ("Without a way, by reason", figures.none),
        ("Ways that people would take", figures.picks),
        ("How it ended", figures.fates),
        ("Promises", figures.promises),
    )
    lists = [(title, sorted(counted.items(), key=lambda one: -one[1])) for title, counted in counts if counted]
    return {"figures": numbers, "tables": tables, "lists": lists}


def _table(title: str, says: str, first: str, rows: Iterable[Sequence[Any]]) -> Mapping[str, Any]:
    told = [[name, *((share.part, share.whole or 0) for share in shares)] for name, *shares in rows]
    return {"title": title, "says": says, "first": first, "columns": ("Have a way", "Improved"), "rows": told}


def _told_of(people: Mapping[str, int] | int | None, what: str) -> str:
    """How many there are; nothing where that is hidden."""
    count = sum(people.values()) if isinstance(people, Mapping) else people
    return "" if count is None else f"{count:,} {what}"


def _in_words(share: Share) -> str:
    return (
        "not shown: fewer than 20 people, here or beside"
        if share.whole is None
        else f"{share.part:,} of {share.whole:,}"
    )


def _ms_of(date: str) -> int:
    return round(datetime.fromisoformat(date).replace(tzinfo=UTC).timestamp() * 1000)

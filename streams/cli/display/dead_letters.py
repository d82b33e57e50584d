"""Dead letters in lines and as JSON."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import NamedTuple

import msgspec
from msgspec import UNSET, UnsetType

from ....schemas.events import DeadLetter
from ....schemas.headers import format_time
from ....schemas.problems import JSON_ERRORS
from ...printable import printable
from ...printed_json import print_json
from ...replay.dead_letters import FoundLetter
from .words import counted

INDENT = " " * 4
LONGEST_NAME = 60

Faults = Mapping[str, str]
"""By the id of a dead letter why it cannot be sent again."""


class ShownLetter(NamedTuple):
    """A dead letter. ``key``, ``headers`` and ``value`` are its record's; that is JSON where it can be, else text."""

    id: str
    reason: str
    detail: str
    program: str | None
    application: str | None
    sent: str
    time: str
    records: int
    last_offset: int
    size: int
    sha256: str
    sent_again: bool
    fault: str | None
    key: str | UnsetType | None = UNSET
    headers: Mapping[str, str] | UnsetType = UNSET
    value: object = UNSET


class Retried(NamedTuple):
    """The dead letters that were sent again, those that had been before, and those that are not: why, or retries."""

    sent: Sequence[str]
    sent_before: Sequence[str]
    left: Faults
    skipped: Sequence[str]
    dry_run: bool


def print_letters(letters: Sequence[FoundLetter], retried: Collection[str], faults: Faults, as_json: bool) -> None:
    """A line for each dead letter, then how many there are of each reason."""
    if as_json:
        print_json({"dead_letters": [_shown(letter, retried, faults) for letter in letters]})
        return
    for letter in letters:
        fault = faults.get(letter.id)
        note = "  (sent again)" if letter.id in retried else f"  (cannot be sent again: {fault})" if fault else ""
        print(printable(f"{format_time(letter.sent_ms)}  {_in_words(letter)}{note}"))
    by_reason = Counter[str]()
    for letter in letters:
        by_reason[letter.letter.reason] += letter.records
    reasons = "".join(f", {reason} {count}" for reason, count in by_reason.most_common())
    print(printable(f"{counted(len(letters), 'dead letter')}, {len(retried)} sent again{reasons}"))


def print_records(letters: Sequence[FoundLetter], retried: Collection[str], faults: Faults, as_json: bool) -> None:
    """Dead letters with the bytes of their records."""
    if as_json:
        shown = (_with_record(_shown(letter, retried, faults), letter.letter) for letter in letters)
        print_json({"dead_letters": list(shown)})
        return
    for letter in letters:
        for line in _lines(letter, letter.id in retried, faults.get(letter.id)):
            print(printable(line))


def print_retried(
    sent: Sequence[FoundLetter],
    before: Collection[str],
    faults: Faults,
    skipped: Collection[str],
    *,
    dry_run: bool,
    as_json: bool,
) -> None:
    """The letters that were sent again, those that had been before, those that cannot be, and those of retries."""
    if as_json:
        print_json(Retried([letter.id for letter in sent], sorted(before), faults, sorted(skipped), dry_run))
        return
    verb = "would be sent" if dry_run else "sent"
    for letter in sent:
        print(printable(f"{verb} again: {_in_words(letter)}"))
    for id, why in faults.items():
        print(printable(f"cannot be sent again: {id}: {why}"))
    total = counted(len(sent) + len(before) + len(faults) + len(skipped), "dead letter")
    print(f"{total}: {len(sent)} {verb} again, {len(before)} sent before, {len(faults)} cannot be")
    if skipped:
        records = "record was a retry that was" if len(skipped) == 1 else "records were retries that were"
        print(f"{len(skipped)} skipped: the {records} refused once more; give the position to send one again")


def _in_words(letter: FoundLetter) -> str:
    about = f"{_named(letter.program)} {_named(letter.application)}"
    if letter.is_run:
        about += f" and {letter.records - 1:,} more up to offset {letter.last_offset}"
    return f"{letter.id}  {letter.letter.reason}  {about}  {letter.letter.detail}"


def _named(name: str | None) -> str:
    """A name that may be as long as its record; `show` prints the record."""
    name = name or "-"
    return name if len(name) <= LONGEST_NAME else f"{name[: LONGEST_NAME - 1]}…"


def _lines(letter: FoundLetter, retried: bool, fault: str | None) -> Iterator[str]:
    refused = letter.letter
    yield _in_words(letter)
    yield f"{INDENT}sent {format_time(letter.sent_ms)}, event time {format_time(letter.time_ms)}"
    yield f"{INDENT}{refused.size:,} bytes, sha256 {refused.sha256}"
    yield INDENT + ("sent again" if retried else f"cannot be sent again: {fault}" if fault else "can be sent again")
    if refused.key is not None:
        yield f"{INDENT}key: {_readable(refused.key)}"
    for name, value in refused.headers:
        yield f"{INDENT}header {name}: {_readable(value)}"
    if refused.value is not None:
        yield f"{INDENT}value: {_readable(refused.value)}"


def _shown(letter: FoundLetter, retried: Collection[str], faults: Faults) -> ShownLetter:
    refused = letter.letter
    return ShownLetter(
        letter.id,
        refused.reason,
        refused.detail,
        letter.program,
        letter.application,
        format_time(letter.sent_ms),
        format_time(letter.time_ms),
        letter.records,
        letter.last_offset,
        refused.size,
        refused.sha256,
        letter.id in retried,
        faults.get(letter.id),
    )


def _with_record(shown: ShownLetter, refused: DeadLetter) -> ShownLetter:
    headers = {name: _readable(content) for name, content in refused.headers}
    return shown._replace(
        key=None if refused.key is None else _readable(refused.key), headers=headers, value=_value(refused.value)
    )


def _value(value: bytes | None) -> object:
    try:
        return None if value is None else msgspec.json.decode(value)
    except JSON_ERRORS:
        return _readable(value or b"")


def _readable(data: bytes) -> str:
    return data.decode(errors="backslashreplace")

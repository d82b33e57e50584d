"""Numbers, times and texts as people read them; a hyphen where there is none."""

from __future__ import annotations

from datetime import UTC, datetime

from rich.table import Column

VERSION_CHARACTERS, VERSION_TAIL = 20, 12
"""A longer model version is shortened to its beginning and its end, which is often a hash."""


def counted(count: int, noun: str) -> str:
    """A number with its noun."""
    return f"{count} {noun}{'' if count == 1 else 's'}"


def right(name: str) -> Column:
    """A column of numbers."""
    return Column(name, justify="right")


def mean(value: float | None) -> str:
    """A mean with three decimals."""
    return "-" if value is None else f"{value:.3f}"


def percentage(share: float | None) -> str:
    """A share in per cent."""
    return "-" if share is None else f"{share:.1%}"


def moment(time_ms: int | None) -> str:
    """A time in UTC, to the second."""
    return "-" if time_ms is None else datetime.fromtimestamp(time_ms / 1000, UTC).isoformat(timespec="seconds")


def minute(time_ms: int | None) -> str:
    """A time in UTC, to the minute."""
    return moment(time_ms)[: len("2026-02-02T08:49")].replace("T", " ")


def day(time_ms: int | None) -> str:
    """A day in UTC."""
    return moment(time_ms)[: len("2026-02-02")]


def span(milliseconds: int) -> str:
    """A duration in hours and minutes."""
    hours, minutes = divmod(round(milliseconds / 60_000), 60)
    return f"{hours} h {minutes} min" if hours else f"{minutes} min"


def short(version: str) -> str:
    """A model version that is not too long."""
    if len(version) <= VERSION_CHARACTERS:
        return version
    return f"{version[: VERSION_CHARACTERS - VERSION_TAIL - 1]}…{version[-VERSION_TAIL:]}"

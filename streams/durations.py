"""Durations in milliseconds, the unit of event times."""

from __future__ import annotations

from datetime import timedelta


def milliseconds(duration: timedelta) -> int:
    """A duration in milliseconds, rounded."""
    return round(duration.total_seconds() * 1000)

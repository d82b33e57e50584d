"""Numbers and texts as people read them."""

from __future__ import annotations

from rich.table import Column


def counted(count: int, noun: str) -> str:
    """A number with its noun."""
    return f"{count} {noun}{'' if count == 1 else 's'}"


def right(name: str) -> Column:
    """A column of numbers."""
    return Column(name, justify="right")


def mean(value: float | None) -> str:
    """A mean with three decimals; a hyphen where there was nothing to take it of."""
    return "-" if value is None else f"{value:.3f}"


def percentage(share: float | None) -> str:
    """A share in per cent; a hyphen where there was nothing to take it of."""
    return "-" if share is None else f"{share:.1%}"

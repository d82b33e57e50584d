"""Numbers and texts as people read them."""

from __future__ import annotations


def counted(count: int, one: str, many: str | None = None) -> str:
    """A number with its noun."""
    return f"{count} {one if count == 1 else many or one + 's'}"


def mean(value: float | None) -> str:
    """A mean with three decimals; a hyphen where there was nothing to take it of."""
    return "-" if value is None else f"{value:.3f}"


def percentage(share: float | None) -> str:
    """A share in per cent; a hyphen where there was nothing to take it of."""
    return "-" if share is None else f"{share:.1%}"

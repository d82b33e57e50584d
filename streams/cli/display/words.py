"""Answers as people read them."""

from __future__ import annotations

from collections.abc import Iterator

from ....schemas.events import Change, NoRecourse, Option, Recourse, Value


def in_words(answer: Recourse | NoRecourse) -> Iterator[str]:
    """An answer as people read it."""
    if isinstance(answer, NoRecourse):
        yield f"{answer.application}: no way forward: {answer.detail or answer.reason}"
        return
    yield f"{answer.application}: {counted(len(answer.options), 'way')} forward"
    for option in answer.options:
        yield f"  {option.id}. {_option(option)}"


def _option(option: Option) -> str:
    changes = "; ".join(map(_change, option.changes))
    return f"{changes}  (cost {option.cost:.3f}, carried out with probability {option.execution_probability:.2f})"


def _change(change: Change) -> str:
    current, target = change.current, change.target
    unit = f" {change.unit}" if change.unit else ""
    if isinstance(current, str) or isinstance(target, str):
        return f"change {change.feature} from {current} to {target}{unit}"
    verb = "raise" if target > current else "lower"
    return f"{verb} {change.feature} from {_number(current)} to {_number(target)}{unit}"


def _number(value: Value) -> str:
    assert not isinstance(value, str), "texts are shown as they are"
    return f"{value:,.10g}"


def counted(count: int, one: str, many: str | None = None) -> str:
    """A number with its noun."""
    return f"{count} {one if count == 1 else many or one + 's'}"


def mean(value: float | None) -> str:
    """A mean with three decimals; a hyphen where there was nothing to take it of."""
    return "-" if value is None else f"{value:.3f}"


def percentage(share: float | None) -> str:
    """A share in per cent; a hyphen where there was nothing to take it of."""
    return "-" if share is None else f"{share:.1%}"

"""Suggestions as a data frame, and as a table in a notebook."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from html import escape
from importlib import import_module
from typing import Any

from msgspec import UNSET

from ...schemas.events import NoRecourse, Option, Recourse, Value
from ...schemas.spec import ProgramSpec
from ..errors import UsageError
from ..printable import printable
from .people import Origin

LIBRARIES = ("pandas", "polars")
PERSON = "person"
TARGET = "to_"
"""Before the name of a feature: the column of the values to reach."""
MOST_PEOPLE = 50
"""Most people in a table of a notebook."""

Answer = Recourse | NoRecourse
_Row = tuple[Answer, Option | None]
"""An answer with one of its options, None where it has none."""


def frame_of(answers: Sequence[Answer], spec: ProgramSpec, origin: Origin, library: str | None) -> Any:
    """A data frame of ``library``, by default that of the people's, with a row for each option or ``NoRecourse``.

    Raise ``UsageError`` where the library is not installed.
    """
    chosen = library or (origin.library if origin.library in LIBRARIES else LIBRARIES[0])
    if chosen not in LIBRARIES:
        raise UsageError(f"there is no library {chosen!r}: use {' or '.join(LIBRARIES)}")
    try:
        module: Any = import_module(chosen)
    except ImportError:
        raise UsageError(f"{chosen} is not installed: install it, or name another of {', '.join(LIBRARIES)}") from None
    rows = list(_rows(answers))
    columns = _columns(rows, spec)
    person = origin.person if origin.person and origin.person not in columns else PERSON
    names = [answer.application for answer, _ in rows]
    labels = [origin.labels.get(name, name) for name in names]
    dtype = origin.dtype if origin.library == chosen else None
    if chosen == "polars":
        return module.DataFrame({person: module.Series(labels, dtype=dtype), **columns})
    return module.DataFrame(columns, index=module.Index(labels, name=person, dtype=dtype))


def html_of(answers: Sequence[Answer], summary: Sequence[str]) -> str:
    """An HTML table of the first people, with the facts of the summary below it."""
    head = "".join(f"<th>{title}</th>" for title in ("person", "option", "what to do", "cost", "helps"))
    body = "".join(map(_html_row, _rows(answers[:MOST_PEOPLE])))
    more = [f"the first {MOST_PEOPLE} of {len(answers)} people are shown"] if len(answers) > MOST_PEOPLE else []
    facts = "<br>".join(map(escape, [*more, *summary]))
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table><p>{facts}</p>"


def _rows(answers: Sequence[Answer]) -> Iterator[_Row]:
    for answer in answers:
        if isinstance(answer, NoRecourse):
            yield answer, None
        else:
            yield from ((answer, option) for option in answer.options)


def _columns(rows: Sequence[_Row], spec: ProgramSpec) -> dict[str, list[Any]]:
    options = [option for _, option in rows]
    targets = [_targets(option) for option in options]
    reasons = [answer if isinstance(answer, NoRecourse) else None for answer, _ in rows]
    return {
        "option": [option and option.id for option in options],
        "changes": [option and "; ".join(map(str, option.changes)) for option in options],
        "cost": [option and option.cost for option in options],
        "execution_probability": [option and _probability(option) for option in options],
        "improvement_probability": [option and _improvement(option) for option in options],
        "improvement_low": [option and _end(option, 0) for option in options],
        "improvement_high": [option and _end(option, 1) for option in options],
        "reason": [none and none.reason for none in reasons],
        "detail": [none and none.detail for none in reasons],
        "advice": [none and (none.advice or None) for none in reasons],
        **{
            f"{TARGET}{feature.name}": _of_one_type([target.get(feature.name) for target in targets])
            for feature in spec.features
            if feature.may_change
        },
    }


def _targets(option: Option | None) -> Mapping[str, Value]:
    return {change.feature: change.target for change in option.changes} if option else {}


def _probability(option: Option) -> float:
    learned = option.learned_execution_probability
    return option.execution_probability if learned is None else learned


def _improvement(option: Option) -> float | None:
    """How probably it helps, where anything is known of that."""
    probability = option.expected_help
    return None if probability is UNSET else probability


def _end(option: Option, side: int) -> float | None:
    """An end of the interval of that, where options have one."""
    return None if option.improvement_interval is UNSET else option.improvement_interval[side]


def _of_one_type(values: list[Value | None]) -> list[Value | None]:
    """The values, whole numbers as floats where others are: a column of polars has one type."""
    if any(isinstance(value, float) for value in values):
        return [value if value is None or isinstance(value, str) else float(value) for value in values]
    return values


def _html_row(row: _Row) -> str:
    answer, option = row
    if option is None:
        assert isinstance(answer, NoRecourse), "a recourse has options"
        cells = ["", answer.detail or answer.reason, "", ""]
    else:
        helps = _improvement(option)
        known = "" if helps is None else f"{helps:.2f}"
        if option.improvement_interval is not UNSET:
            known += " ({:.2f} to {:.2f})".format(*option.improvement_interval)
        cells = [option.id, option.actions, f"{option.cost:.3f}", known]
    return f"<tr>{''.join(f'<td>{escape(printable(cell))}</td>' for cell in [answer.application, *cells])}</tr>"

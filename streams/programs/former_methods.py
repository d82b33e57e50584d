"""Methods that a spec could name in older versions, and which method to name instead."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from types import MappingProxyType

FORMER: Mapping[tuple[str, str], Mapping[str, str]] = MappingProxyType(
    {
        ("policy", "choice"): {"gp_ucb": "residual", "tap": "residual"},
        ("policy", "generator"): {"minimal_l1": "search", "minimal_l2": "search", "wachter": "search"},
    }
)
"""By part and field of a spec: the former name, and the method that serves programs in its place."""


def unknown_method(part: str, field: str, name: str, names: Iterable[str]) -> str:
    """Why a spec cannot name a method, in one line; ``names`` are those of the methods that there are."""
    room = part if field == "kind" else field
    if instead := FORMER.get((part, field), {}).get(name):
        return f"{name!r} was a {room} for comparisons and left Onward: use `{instead}`"
    return f"there is no {room} {name!r}: use one of {', '.join(names)}"

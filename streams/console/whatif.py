"""What if a person cannot change everything? Ways within their own limits, by the model that decides today.

Nothing is kept, and nothing is sent: it is for a talk with the person. With their limits they have a spec of their own,
in which less may change than in the program's.
"""

from __future__ import annotations

import math
import re
import time
import unicodedata
from collections.abc import Collection, Mapping
from contextlib import suppress
from dataclasses import replace
from typing import NamedTuple

import msgspec

from ...schemas.events import NoRecourse, Recourse, Value
from ...schemas.number_text import may_have_thousands, not_a_number, number
from ...schemas.spec import Feature, Mutable, ProgramSpec
from ...schemas.specfile import LoadedSpec
from ..errors import OnwardError
from ..programs.assembly import assemble
from ..replay.rehearsal import rehearse
from ..replay.suggestions import suggest

NAME = "what-if"
_CURRENCY = re.compile(r"^[A-Z]{3}(?=[ 0-9])|(?<=[ 0-9])[A-Z]{3}$")
"""The code of a currency before or behind a number."""


class Limits(NamedTuple):
    """What a person cannot change, and how far they can go, in the units of the spec, by feature."""

    fixed: Collection[str] = ()
    most: Mapping[str, float] = {}


class LimitError(Exception):
    """A limit that cannot be read; the text is a sentence for who has written it."""


def ways_within(
    loaded: LoadedSpec, features: Mapping[str, Value | None], limits: Limits, manifest: str | None = None
) -> Recourse | NoRecourse | None:
    """What the person would be told today; None where the model approves them as they are.

    ``manifest`` is the address of the newest model that was announced; without one the program has its first.

    Raises ``ModelError`` where the model cannot be used, and ``UsageError`` for a program with limited places.
    """
    spec = limited(loaded.spec, features, limits)
    if manifest is not None:
        spec = msgspec.structs.replace(spec, model=msgspec.structs.replace(spec.model, manifest=manifest))
    program = assemble(replace(loaded, spec=spec), has_begun=True)
    return next(suggest(program, {NAME: features}, time.time_ns() // 1_000_000), None)


def warm_up(loaded: LoadedSpec) -> None:
    """Compile what the first what-if of a program needs, which takes seconds, while somebody fills in its form."""
    with suppress(OnwardError):  # the what-if says it
        rehearse(assemble(loaded, has_begun=True))


def limited(spec: ProgramSpec, features: Mapping[str, Value | None], limits: Limits) -> ProgramSpec:
    """The spec under which this person changes no more than they can."""
    changed = tuple(_limited(feature, features.get(feature.name), limits) for feature in spec.features)
    return msgspec.structs.replace(spec, features=changed)


def read_limit(text: str, times: float = 1.0) -> float | None:
    """A limit as people write it, such as 9 000 €, in the unit of the spec; None where there is none.

    ``times`` is by how much people's numbers are larger. Raises ``LimitError``.

    Examples
    --------
    >>> read_limit("9 000 €"), read_limit("EUR 1500.50"), read_limit(" "), read_limit("12000", 1000.0)
    (9000.0, 1500.5, None, 12.0)
    """
    if not text.strip():
        return None
    signs = "".join(one for one in text if unicodedata.category(one) == "Sc" or one == "%")
    plain = _CURRENCY.sub("", text.strip(f"{signs} ")).strip(f"{signs} ")
    value = number(plain)
    if may_have_thousands(plain) or isinstance(value, str) or not math.isfinite(value):
        fault = not_a_number(plain)
        raise LimitError(f"{text!r} {fault}{': write it alone, in digits' if fault.endswith('number') else ''}")
    return float(value) / times


def _limited(feature: Feature, value: Value | None, limits: Limits) -> Feature:
    fixed = msgspec.structs.replace(feature, mutable="none", max_change=None, step=None)
    if feature.name in limits.fixed:
        return fixed
    most = limits.most.get(feature.name)
    if most is None or not isinstance(value, int | float) or not feature.may_change:
        return feature
    way: Mutable = "up" if most > value else "down"
    if feature.mutable not in (way, "any"):
        # Who goes no farther than below their own value does not go up; a limit on the other side says nothing.
        return fixed if feature.mutable == "up" else feature
    size, share = feature.largest_change
    distance = min(abs(most - value), size, share * abs(value))
    # To the other side they have named no limit, so nothing is asked there.
    return msgspec.structs.replace(feature, mutable=way, max_change=distance) if distance > 0 else fixed

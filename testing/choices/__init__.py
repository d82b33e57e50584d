"""The contract of choices as laws."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from ...agents.choices import Choice
from ..laws import Contract, name_of
from .construction import CONSTRUCTION
from .learners import FreshLearners as FreshLearners
from .picks import PICKS
from .rewards import REWARD_LAWS
from .state import STATE

CHOICE: Contract[FreshLearners] = Contract(CONSTRUCTION, PICKS, REWARD_LAWS, STATE)
"""The laws of every choice."""


def check_choice(
    kind: type[Choice], *, artefacts: Mapping[str, Any] | None = None, seeds: Iterable[int] | None = None
) -> None:
    """Check every law of choices; raise ``ContractError`` at the first that is broken.

    ``artefacts`` are examples of what the choice ``needs`` beside what programs give, which are its ``features``.
    ``seeds`` are those of every law, by default as many as it needs.
    """
    CHOICE.hold(name_of(kind, Choice), FreshLearners(kind, artefacts or {}), seeds)

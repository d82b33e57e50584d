"""Which texts may be the name of a case, person, option or model version."""

from __future__ import annotations

from .events import LONGEST_IDENTIFIER


def identifier_fault(text: str) -> str | None:
    """Why a text cannot be a name; None where it can."""
    if not 0 < len(text) <= LONGEST_IDENTIFIER:
        return f"it has {len(text)} characters: give 1 to {LONGEST_IDENTIFIER}"
    return unprintable_in(text)


def unprintable_in(text: str) -> str | None:
    """The first character that cannot be printed, such as one that turns the text's direction; None without one."""
    if text.isprintable():
        return None
    at, character = next((at, character) for at, character in enumerate(text, 1) if not character.isprintable())
    return f"character {at} is U+{ord(character):04X}, a control character or another one that cannot be printed"

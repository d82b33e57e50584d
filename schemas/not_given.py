"""What stands for a value that is not given: in numbers, texts, labels, groups of people and data frames alike.

Such a cell is no value of its own. It is never told as a target, never counts as a rejection, and is of no group.
"""

from __future__ import annotations

NOTHING = frozenset(("none", "nil"))
"""Of ``NOT_GIVEN`` those that may be a value among texts: nothing of the kind, as somebody's job."""
NOT_GIVEN = NOTHING | frozenset(
    (
        *("", "?", "-", "--", ".", "na", "n/a", "n.a.", "#n/a", "<na>", "nan", "nat", "null", "unknown", "undefined"),
        *("missing", "not given", "not known", "not available"),
    )
)
"""What people and programs write for a cell without a value, in lower case. What else stands for it, a spec says."""
NOT_GIVEN_GROUP = "not given"
"""The group of the people whose value of a watched feature is not known."""


def is_not_given(text: str) -> bool:
    """Whether a text stands for a value that is not known. One that a spec declares as a value is a value."""
    return text.strip().lower() in NOT_GIVEN


def is_not_given_among_texts(text: str) -> bool:
    """Whether it does in a column of texts, of which nobody has declared the values: there `none` may be one."""
    return is_not_given(text) and text.strip().lower() not in NOTHING

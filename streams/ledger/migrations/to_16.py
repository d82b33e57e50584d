"""Schema 16: a case keeps the plans of its questions, of which it had kept hashes.

The plans cannot be found from hashes. Who has an open question is asked no more, and answered at their deadline by what
is known of all; what they have said before counts as not said.
"""

from __future__ import annotations

import sqlite3
from typing import Any

from .bodies import rewrite

STATUS, ASKED, QUESTION_LOG = 2, 8, 19
"""The place of a case's status, the number of those that are asked, and the place of the questions."""
NO_ANSWER = 255


def migrate(db: sqlite3.Connection) -> None:
    """Forget the hashes."""
    rewrite(db, "cases", _without_hashes)


def _without_hashes(case: list[Any]) -> list[Any]:
    if len(case) > QUESTION_LOG and case[QUESTION_LOG] is not None:
        questions, answers, offered, expires_ms = case[QUESTION_LOG]
        is_open = case[STATUS] == ASKED
        unknown = bytes([NO_ANSWER]) * len(answers)
        case[QUESTION_LOG] = [
            [b""] * len(questions),
            unknown if is_open else answers,
            0 if is_open else offered,
            expires_ms,
            b"",
            len(answers) if is_open else 0,
        ]
    return case

"""The words of promises for the numbers that stand in a recourse: ``schemas`` knows no promise."""

from __future__ import annotations

from ..agents import promises
from ..schemas.events import guarantee_words

guarantee_words.append(promises.in_words)

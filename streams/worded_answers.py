"""The answers to people and their parts, with the words of promises for their numbers: ``schemas`` knows no promise."""

from __future__ import annotations

from ..agents import promises
from ..schemas.events import Change as Change
from ..schemas.events import NoRecourse as NoRecourse
from ..schemas.events import Option as Option
from ..schemas.events import Recourse as Recourse
from ..schemas.events import Step as Step
from ..schemas.events import set_guarantee_words

set_guarantee_words(promises.in_words)

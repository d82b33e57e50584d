"""The answers to people and their parts, which tell the promises of their options in words."""

from __future__ import annotations

from ...schemas.events import Change as Change
from ...schemas.events import NoRecourse as NoRecourse
from ...schemas.events import Option as Option
from ...schemas.events import Recourse as Recourse
from .. import guarantees as guarantees

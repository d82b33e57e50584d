"""A first program spec from a data file: types, bounds, steps and directions are guessed, and people review them."""

from .draft import Draft as Draft
from .draft import draft_spec as draft_spec

"""Linear: the cheapest allowed changes under a linear score, in closed form."""

from __future__ import annotations

from typing import ClassVar

from .search import Search


class Linear(Search):
    """``Search`` for programs that keep to linear models: a model with another score is refused.

    ``Search`` solves linear scores in the same closed form (``linear_sets.py``), and takes every other model too.
    """

    name: ClassVar[str] = "linear"
    needs_linear_score: ClassVar[bool] = True

"""Recommenders under a linear score: each person's changes reach a score of their own."""

from .contract import Bounds, Recommendations, Recommender, Task
from .generator import MaximalSuccessGenerator
from .maximal_success import MaximalSuccess

__all__ = [
    "Bounds",
    "MaximalSuccess",
    "MaximalSuccessGenerator",
    "Recommendations",
    "Recommender",
    "Task",
]

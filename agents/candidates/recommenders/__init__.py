"""Recommenders under a linear score: each person's changes reach a score of their own."""

from .contract import Bounds, Recommendations, Recommender, Task
from .generator import MaximalSuccessGenerator, MinimalL1Generator, MinimalL2Generator
from .maximal_success import MaximalSuccess
from .minimal_l1 import MinimalL1
from .minimal_l2 import MinimalL2

__all__ = [
    "Bounds",
    "MaximalSuccess",
    "MaximalSuccessGenerator",
    "MinimalL1",
    "MinimalL1Generator",
    "MinimalL2",
    "MinimalL2Generator",
    "Recommendations",
    "Recommender",
    "Task",
]

"""A world of rounds with limited places, in which rejected people change, give up, wait and come back."""

from .competition import Applications, Competition, Outcomes
from .played import CompetitionWorld
from .practice import GoalPractice, Recommender
from .rules import Settings, attainability, success_probability
from .season import Answer, Arrival, Season, Taken, feature_names, mean_of_rounds
from .world import World, draw_world, load_worlds

__all__ = [
    "Answer",
    "Applications",
    "Arrival",
    "Competition",
    "CompetitionWorld",
    "GoalPractice",
    "Outcomes",
    "Recommender",
    "Season",
    "Settings",
    "Taken",
    "World",
    "attainability",
    "draw_world",
    "feature_names",
    "load_worlds",
    "mean_of_rounds",
    "success_probability",
]

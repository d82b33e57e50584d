"""A world of rounds with limited places, in which rejected people change, give up, wait and come back."""

from .competition import Applications, Competition, Outcomes
from .played import CompetitionWorld
from .practice import GoalPractice, PracticeRecommender
from .rules import CompetitionRules, attainability, success_probability
from .season import Advice, Applicant, ChosenOption, Episode, feature_names, mean_of_rounds
from .world import CompetitionPeople, draw_world, load_worlds

__all__ = [
    "Advice",
    "Applicant",
    "Applications",
    "ChosenOption",
    "Competition",
    "CompetitionPeople",
    "CompetitionRules",
    "CompetitionWorld",
    "Episode",
    "GoalPractice",
    "Outcomes",
    "PracticeRecommender",
    "attainability",
    "draw_world",
    "feature_names",
    "load_worlds",
    "mean_of_rounds",
    "success_probability",
]

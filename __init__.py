"""Onward: an event-streaming pipeline for algorithmic recourse.

    from onward import load_program

    print(load_program("loans.yaml").suggest([{"income": 21, "debts": 7, "region": "north"}]))

``docs/python.md`` shows all that is exported here. Each name is imported when it is first used.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .streams.api.elicitation import Elicitation, Question
    from .streams.api.program import Program, load_program
    from .streams.api.suggestions import Suggestions
    from .streams.api.training import draft_spec, train
    from .streams.errors import OnwardError, OnwardWarning
    from .streams.programs.bundle.manifest import Manifest
    from .streams.review.report import Review
    from .streams.worded_answers import Change, NoRecourse, Option, Recourse, Step

__version__ = "0.1.0"

__all__ = [
    "Change",
    "Elicitation",
    "Manifest",
    "NoRecourse",
    "OnwardError",
    "OnwardWarning",
    "Option",
    "Program",
    "Question",
    "Recourse",
    "Review",
    "Step",
    "Suggestions",
    "__version__",
    "draft_spec",
    "load_program",
    "train",
]

_MODULES = {
    "Change": ".streams.worded_answers",
    "Elicitation": ".streams.api.elicitation",
    "Manifest": ".streams.programs.bundle.manifest",
    "NoRecourse": ".streams.worded_answers",
    "OnwardError": ".streams.errors",
    "OnwardWarning": ".streams.errors",
    "Option": ".streams.worded_answers",
    "Program": ".streams.api.program",
    "Question": ".streams.api.elicitation",
    "Recourse": ".streams.worded_answers",
    "Review": ".streams.review.report",
    "Step": ".streams.worded_answers",
    "Suggestions": ".streams.api.suggestions",
    "draft_spec": ".streams.api.training",
    "load_program": ".streams.api.program",
    "train": ".streams.api.training",
}


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_MODULES[name], __name__), name)


def __dir__() -> list[str]:
    return __all__

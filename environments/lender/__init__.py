"""A lender's world of structural equations that a program does not know: what it tells people there, and what is true.

setting = Setting(measures=3, cause=SEEN, approved_only=True)
equations = setting.equations()
write_history(file, equations, *history(setting, equations, random))
lender = Lender(equations, spec.features, approves)                # of the program that is made of this file
people = lender.newcomers(100, random)
stated = lender.stated_options(people.only(slice(0, 1)), recourse.options)     # what is stated and what is true
"""

from .equations import Equations, Floats, LenderPeople
from .lender import Lender, OpenApplication, Report, StatedOption, taken_of, what_follows
from .oracle import Oracle
from .played import LenderWorld
from .programs import LABEL, history, write_history
from .settings import CHANGES, MEASURED, MEASURES, LenderSetting

__all__ = [
    "CHANGES",
    "LABEL",
    "MEASURED",
    "MEASURES",
    "Equations",
    "Floats",
    "Lender",
    "LenderPeople",
    "LenderSetting",
    "LenderWorld",
    "OpenApplication",
    "Oracle",
    "Report",
    "StatedOption",
    "history",
    "taken_of",
    "what_follows",
    "write_history",
]

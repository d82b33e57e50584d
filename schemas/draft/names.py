"""What the name of a column says about it. English words only; a name that says nothing leads to no guess."""

from __future__ import annotations

import re

import msgspec

from ..spec import Name


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


PERSONAL = _words(
    "age sex gender race ethnicity religion nationality foreign married marital single divorced birth born disability "
    "children kids dependants dependents liable pregnancies pregnant"
)
"""Personal data that nobody is to change for a decision."""
PLACE = _words(
    "city state region district county country province postcode zip zipcode address residence neighbourhood "
    "neighborhood urban rural"
)
HOUSING = _words(
    "housing home homes house houses homeowner homeowners homeownership dwelling accommodation tenant tenancy"
)
OWN_OR_RENT = _words("own rent"), _words("owner tenant")
PAST = _words(
    "history prior priors previous past juv juvenile conviction convictions offence offences offense offenses charge "
    "arrests bankruptcy bankruptcies pedigree missed late delinquency delinquencies delinquent"
)
FAILED = _words("overdue default defaults defaulted")
COUNTS = _words("count counts times number months")
"""With a word for a failure: how often, or how long, somebody failed to pay."""
PURPOSE = _words("purpose purposes")
CODED = _words("status type kind class category group sector industry property housing job occupation plan plans")
"""Whole numbers under such a name are often codes."""
GROWS = _words("years tenure experience seniority education school schooling degree qualification employment")
"""What can only grow, or is never to be given up."""
WAITING = _words("years tenure experience seniority")
"""What grows only with time."""
HELD = _words("employment employed emp job customer account member membership residence")
HOW_LONG = _words("duration length months years since time tenure")
"""With a word for what is held: for how long it is."""
PARTLY = _words("part full")
"""A job in part time is none that lasts."""
HOLDERS = _words("holder owner customer client user member applicant")
EDUCATION = _words("education school schooling degree qualification")
LOWER_IS_BETTER = _words(
    "debt debts arrears overdue overdraft overdrafts utilisation "
    "utilization owed liabilities installment installments instalment instalments bmi glucose cholesterol"
)
HIGHER_IS_BETTER = _words(
    "income incomes salary wage wages earnings savings saving assets wealth reserves revenue turnover"
)
EARNED = _words("income incomes salary wage wages earnings revenue turnover")
"""What people earn: it grows, but not to twice as much."""
HIGHER_MAY_BE_BETTER = _words("payment payments repayment repayments paid balance deposit deposits")
"""Better when higher, where the data say so too."""
ASKED_FOR = _words("amount")
ASKED_FOR_WITH = _words("amount loan credit requested applied total")
DIRECTED = LOWER_IS_BETTER | HIGHER_IS_BETTER | HIGHER_MAY_BE_BETTER | ASKED_FOR
IDENTIFIER = _words("id uuid guid nr no num number key code ref reference index account ssn iban phone")
CODE = _words("zip zipcode postcode postal code naics sic")
DATE = _words("date datetime timestamp dob birthday birthdate")
CALENDAR_YEAR = _words("year yr fy birth born")
UNWANTED = _words("default defaulted chargeoff fraud churn churned bad delinquent rejected denied loss")
"""Labels whose 1 is not the desired outcome, and values that are not."""
AFFIRMED, DENIED = _words("yes y true t"), _words("no n false f")
"""Values of a label that mean 1 and 0."""

_WORD = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])")
BAD_NAME = "the column needs a printable name of 1 to 100 characters, no quotation mark or backslash among them"


def words_of(name: str) -> frozenset[str]:
    """The words of a name in lower case: ``DebtsOf_Others`` has debts, of and others."""
    return frozenset(word.lower() for word in _WORD.findall(name))


def is_personal(words: frozenset[str]) -> bool:
    """Whether these words name personal data."""
    return bool(words & PERSONAL) and not _is_age_of_account(words)


def is_past(words: frozenset[str]) -> bool:
    """Whether these words name what has happened, such as a count of late payments; an amount can still be paid."""
    return bool(words & PAST or (words & FAILED and words & COUNTS and not words & ASKED_FOR))


def is_duration(words: frozenset[str]) -> bool:
    """Whether these words say for how long somebody has held something, such as a job."""
    lasts = words & HELD and words & HOW_LONG and not words & (DIRECTED | PARTLY)
    return bool(lasts) or _is_age_of_account(words)


def _is_age_of_account(words: frozenset[str]) -> bool:
    return words >= {"account", "age"} and not words & HOLDERS


def is_housing(words: frozenset[str]) -> bool:
    """Whether these words name how somebody lives, and nothing that has a direction, such as debts."""
    return bool(words & HOUSING or any(words >= both for both in OWN_OR_RENT)) and not words & (DIRECTED | GROWS)


def is_asked_for(words: frozenset[str]) -> bool:
    """Whether these are the words of the amount that a person applies for."""
    return words >= ASKED_FOR and words <= ASKED_FOR_WITH


def is_name(text: str) -> bool:
    """Whether a feature may have this name."""
    try:
        return msgspec.convert(text, Name).isprintable()
    except msgspec.ValidationError:
        return False

"""What the name of a column says about it. English words only; a name that says nothing leads to no guess.

Words make a draft stricter wherever they stand. They open a feature, or say how a label is meant, only where every
word of the name is known: `minority_income_ratio` is no income.
"""

from __future__ import annotations

import re
from typing import NamedTuple

import msgspec

from ..spec import Name


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


PERSONAL = _words(
    "age sex gender race ethnicity religion nationality foreign married marital single divorced birth born disability "
    "children kids dependants dependents liable pregnancies pregnant black white hispanic latino latina asian male "
    "female veteran name names firstname lastname forename surname"
)
"""Personal data that nobody is to change for a decision."""
OLD = _words("old is year years how person applicant")
"""With old, and no other word: how old people are. An old balance is none."""
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
WAITING = _words("years tenure experience seniority")
"""What grows only with time."""
HELD = _words("employment employed emp job customer account member membership residence")
HOW_LONG = _words("duration length months years since time tenure")
"""With a word for what is held: for how long it is."""
NOT_LASTING = _words("part full balance balances payment payments deposit deposits")
"""A job in part time is none that lasts, nor is a balance."""
HOLDERS = _words("holder owner customer client user member applicant")
EDUCATION = _words("education qualification")
WITH_EDUCATION = _words("level highest applicant current of own")
FORMS = _words("band bands range ranges bracket brackets group groups class classes level levels")
"""What the name of a column may say of its bands of numbers, beside what it is about."""
IDENTIFIER = _words("id uuid guid nr no num number key code ref reference index account ssn iban phone")
CODE = _words("zip zipcode postcode postal code naics sic")
DATE = _words("date datetime timestamp dob birthday birthdate")
CALENDAR_YEAR = _words("year yr fy birth born")


class Subject(NamedTuple):
    """What a name may be about: its words, those that may stand beside them, and the sign of what is better."""

    words: frozenset[str]
    beside: frozenset[str]
    sign: int
    needs: frozenset[str] = frozenset()
    """One of these stands beside it."""
    is_money: bool = True
    """Whether it is an amount; else it may be a count."""
    is_earned: bool = False
    is_open: bool = True
    """Whether people can change it: a credit score is one's own, but another's figure."""


MONEY = _words("amount total current in eur euro euros usd dollar dollars gbp chf value")
OFTEN = _words("monthly yearly annual weekly")
PERSON = _words("applicant person personal")
CREDIT = _words("credit card cards loan loans bank consumer account of")
SUBJECTS = (
    Subject(
        _words("income incomes salary wage wages earnings"),
        MONEY | OFTEN | PERSON | _words("net gross"),
        1,
        is_earned=True,
    ),
    Subject(_words("revenue revenues turnover"), MONEY | OFTEN | _words("business company firm"), 1, is_earned=True),
    Subject(_words("savings saving assets wealth reserves"), MONEY | PERSON | _words("balance account bank liquid"), 1),
    Subject(
        _words("debt debts arrears overdraft overdrafts overdue owed liabilities"),
        MONEY | OFTEN | PERSON | CREDIT | _words("balance payment payments number open unsecured"),
        -1,
        is_money=False,
    ),
    Subject(
        _words("utilisation utilization"),
        CREDIT | _words("limit revolving rate ratio percent percentage pct current total unsecured line lines"),
        -1,
    ),
    Subject(_words("score"), _words("credit"), 1, needs=_words("credit"), is_open=False),
    Subject(_words("fico"), _words("score credit"), 1, is_open=False),
    Subject(_words("gpa"), _words("score total"), 1, is_open=False),
)
ASKED_FOR = _words("loan credit requested applied")
AMOUNT_ASKED_FOR = Subject(_words("amount"), MONEY | ASKED_FOR | _words("of for"), -1, needs=ASKED_FOR)
"""The amount that a person applies for, of a name that is about nothing else."""
DIRECTED = frozenset[str]().union(*(subject.words for subject in (*SUBJECTS, AMOUNT_ASKED_FOR)))

UNWANTED_STEMS = (
    "deny", "deni", "declin", "refus", "reject", "charg", "writ", "fail", "drop", "arrear", "risk", "default", "delinq",
    "fraud", "churn", "bankrupt", "foreclos", "evict", "recidiv", "reoffend", "attrition", "overdue", "unpaid", "loss",
    "miss", "dismiss", "terminat",
)  # fmt: skip
UNWANTED = _words("late bad lost")
WANTED = _words(
    "approved approval approve accepted accept granted grant repaid repay paid hired hire admitted admit admission "
    "passed pass success successful good graduated graduate funded eligible promoted completed offered"
)
BESIDE_OUTCOMES = _words(
    "is was has been the of a loan loans credit application applicant mortgage status flag target label outcome result "
    "decision next month payment payments customer client account back in full fully job school course y off out"
)
AFFIRMED, DENIED = _words("yes y true t"), _words("no n false f")
"""Values of a label that mean 1 and 0."""

_WORD = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])")
_TOKEN = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])|[^\s_.,()\[\]A-Za-z-]+")
"""A word, or anything else that is no separator: digits, other letters, signs."""
BAD_NAME = "the column needs a printable name of 1 to 100 characters, no quotation mark or backslash among them"


def words_of(name: str) -> frozenset[str]:
    """The words of a name in lower case: ``DebtsOf_Others`` has debts, of and others."""
    return frozenset(word.lower() for word in _WORD.findall(name))


def tokens_of(text: str) -> frozenset[str]:
    """The words of a text, and whatever else stands in it: ``income_2019`` has income and 2019."""
    return frozenset(token.lower() for token in _TOKEN.findall(text))


class Meaning(NamedTuple):
    """What a name seems to be about, and the words that may make it something else; none where it is known."""

    subject: Subject
    word: str
    unknown: tuple[str, ...] = ()


def meaning_of(name: str, beside: frozenset[str] = frozenset()) -> Meaning | None:
    """What a column is about by its name; None where no word says it. Words ``beside`` the others say nothing else."""
    tokens = tokens_of(name)
    subjects = [subject for subject in SUBJECTS if subject.words & tokens and tokens & (subject.needs or tokens)]
    if not subjects and AMOUNT_ASKED_FOR.words <= tokens and AMOUNT_ASKED_FOR.needs & tokens:
        subjects = [AMOUNT_ASKED_FOR]
    if not subjects:
        return None
    subject = subjects[0]
    unknown = tokens - subject.words - subject.beside - beside
    return Meaning(subject, min(subject.words & tokens), tuple(sorted(unknown)))


def is_education(name: str) -> bool:
    """Whether a name says that a column holds people's own education, and nothing else."""
    tokens = tokens_of(name)
    return bool(tokens & EDUCATION) and tokens <= EDUCATION | WITH_EDUCATION


def outcome_sign(text: str) -> int:
    """Whether the name or the value of a label says a wanted outcome (1), an unwanted one (-1), or nothing for certain.

    Examples
    --------
    >>> outcome_sign("loan_denied"), outcome_sign("Fully Paid"), outcome_sign("not denied"), outcome_sign("paid_late")
    (-1, 1, 0, 0)
    """
    tokens = tokens_of(text)
    unwanted = {token for token in tokens if token in UNWANTED or token.startswith(UNWANTED_STEMS)}
    wanted = tokens & WANTED
    if tokens - unwanted - wanted - BESIDE_OUTCOMES:
        return 0
    return bool(wanted) - bool(unwanted)


def is_personal(words: frozenset[str]) -> bool:
    """Whether these words name personal data."""
    return bool(words & PERSONAL or {"old"} <= words <= OLD) and not _is_age_of_account(words)


def is_past(words: frozenset[str]) -> bool:
    """Whether these words name what has happened, such as a count of late payments; an amount can still be paid."""
    return bool(words & PAST or (words & FAILED and words & COUNTS and "amount" not in words))


def is_duration(words: frozenset[str]) -> bool:
    """Whether these words say for how long somebody has held something, such as a job."""
    lasts = words & HELD and words & HOW_LONG and not words & (DIRECTED | NOT_LASTING)
    return bool(lasts or words & WAITING) or _is_age_of_account(words)


def _is_age_of_account(words: frozenset[str]) -> bool:
    return words >= {"account", "age"} and not words & HOLDERS


def is_housing(words: frozenset[str]) -> bool:
    """Whether these words name how somebody lives."""
    return bool(words & HOUSING or any(words >= both for both in OWN_OR_RENT))


def is_name(text: str) -> bool:
    """Whether a feature may have this name."""
    try:
        return msgspec.convert(text, Name).isprintable()
    except msgspec.ValidationError:
        return False

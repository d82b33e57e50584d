"""The events that cross Onward's topics, as msgspec structs.

On the wire an event is JSON in the record's value, and its CloudEvents 1.0 attributes are record headers
(binary mode, see ``headers.py``). An event never carries scaled or encoded numbers: features are in the units
of the program spec. Event time travels in the ``ce_time`` header, not in the value.

Events hold no cycles, so they are kept from the garbage collector (``gc=False``), which would look at each again and
again.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import datetime
from functools import cache
from typing import Annotated, Any, Literal, get_args, get_type_hints

import msgspec
from msgspec import UNSET, Meta, Raw, Struct, UnsetType

from .words.languages import first_language
from .words.names import readable
from .words.numbers import said

UNPRINTABLE = "\\u0000-\\u001f\\u007f-\\u009f\\u00ad\\u061c\\u200b-\\u200f\\u2028-\\u202e\\u2060-\\u206f\\ufeff"
"""The control and format characters of Unicode's first plane, for a regular expression."""
LONGEST_IDENTIFIER = 200
Identifier = Annotated[
    str, Meta(min_length=1, max_length=LONGEST_IDENTIFIER, extra_json_schema={"pattern": f"^[^{UNPRINTABLE}]+$"})
]
"""The name of a case, person, option or model version. Ingest refuses one that cannot be printed; decoding does not,
because journals of earlier versions may hold some."""
ProgramName = Annotated[str, Meta(pattern=r"^[a-z0-9][a-z0-9._-]{0,62}$")]
Value = int | float | str
"""One raw feature value: a number in the feature's unit, or the name of a category or level."""

Int64 = Annotated[int, Meta(ge=-(2**63), le=2**63 - 1)]
"""What Kafka and SQLite hold."""
Milliseconds = Annotated[int, Meta(ge=-(2**62), le=2**62)]
"""A time since the epoch to which any duration of a spec can be added."""

APPLY_AGAIN = "apply_again"
"""Why somebody gets no options whose score is above the next goal already."""
Fate = Literal["rewarded", "censored", "late", "dangling", "unseen"]
PromiseStatus = Literal["kept", "broken", "expired", "superseded"]
PromiseReason = Literal["approved", "model", "other_features", "decision", "answered"]
Drifted = Literal["threshold", "newcomers"]
Result = Literal["improved", "not_improved", "unseen"]
ExecutionSource = Literal["assumed", "told", "learned"]
ImprovementSource = Literal["labels", "score"]


class Application(Struct, frozen=True, gc=False, forbid_unknown_fields=True):
    """What a person sent. ``application`` names the case; every later event refers to it.

    A feature may be absent or null where the spec has a ``missing`` value for it. In a program with rounds or promises,
    who has the ``applicant`` of an earlier application comes back with what that was promised. ``previous`` names the
    one that this one follows; where that has another applicant, or either has none, it is ignored.
    """

    program: ProgramName
    application: Identifier
    features: Mapping[str, Value | None]
    applicant: Identifier | None = None
    previous: Identifier | None = None


class RawApplication(Struct, frozen=True, gc=False, forbid_unknown_fields=True):
    """An application whose features are still JSON: only its program knows how to read them."""

    program: str
    application: Identifier
    features: Raw
    applicant: Identifier | None = None
    previous: Identifier | None = None


class Decision(Struct, frozen=True, gc=False, forbid_unknown_fields=True):
    """An external system's answer to an application."""

    program: ProgramName
    application: Identifier
    approved: bool
    score: float | None = None


class Outcome(Struct, frozen=True, gc=False, forbid_unknown_fields=True):
    """What happened in the real world after a recourse.

    ``improved``: the person carried a suggestion out and it really improved their situation (reward 1);
    ``not_improved``: it is known that it did not (reward 0); ``unseen``: the person was never shown it. ``option`` is
    the id of the option that the outcome is about; it may be left out where the recourse has only one. ``acted`` says
    whether the person carried a suggestion out, where that is known: who did not cannot have improved by it.
    """

    program: ProgramName
    application: Identifier
    result: Result
    option: Identifier | None = None
    acted: bool | UnsetType = UNSET

    def __post_init__(self) -> None:
        if self.acted is not UNSET and self.result == "unseen":
            raise ValueError("who was never shown a recourse can neither have acted by it nor not: leave `acted` out")
        if self.acted is False and self.result == "improved":
            raise ValueError("a suggestion that was not carried out improved nobody: `improved` needs `acted: true`")


class Acted(Struct, frozen=True, gc=False, forbid_unknown_fields=True):
    """A person carried a suggestion out; whether it helped is not known yet.

    ``option`` is the id of the option; it may be left out where nobody knows it.
    """

    program: ProgramName
    application: Identifier
    option: Identifier | None = None


class Answer(Struct, frozen=True, gc=False, forbid_unknown_fields=True):
    """What a person says of a recourse: ``option`` is the id of the option that they would take, null for none.

    The last answer of a person counts, until the window of their recourse ends. With ``question``, the number of a
    question, it is the answer to that question, and the first one counts.
    """

    program: ProgramName
    application: Identifier
    option: Identifier | None
    question: Annotated[int, Meta(ge=1, lt=2**53)] | UnsetType = UNSET


class Model(Struct, frozen=True, gc=False, forbid_unknown_fields=True):
    """A new model version of a program. ``manifest`` is any fsspec address, ``sha256`` that of the manifest's bytes."""

    program: ProgramName
    version: Identifier
    manifest: str
    sha256: Annotated[str, Meta(pattern="^[0-9a-f]{64}$")]


class Spec(Struct, frozen=True, gc=False, forbid_unknown_fields=True):
    """A program's changed spec.

    ``spec`` is its document (``spec_document.py``): the fields of the spec, without the address of the first model.
    ``model`` is the sha256 of the first model's manifest, which stays.
    """

    program: ProgramName
    spec: Mapping[str, Any]
    model: Annotated[str, Meta(pattern="^[0-9a-f]{64}$")]


class RawSpec(Struct, frozen=True, gc=False, forbid_unknown_fields=True):
    """A spec whose document is still JSON."""

    program: ProgramName
    spec: Raw
    model: Annotated[str, Meta(pattern="^[0-9a-f]{64}$")]


class Round(Struct, frozen=True, gc=False, forbid_unknown_fields=True):
    """The end of a round with limited places, announced before it.

    Applications with an event time up to ``ends_at`` belong to it, unless an earlier round has taken them. Where the
    program's spec has a calendar, the event changes the places of one of its rounds.
    """

    program: ProgramName
    ends_at: Annotated[datetime, Meta(tz=True)]
    places: Annotated[int, Meta(ge=0, le=10**9)]


class Erasure(Struct, frozen=True, gc=False, forbid_unknown_fields=True):
    """That all traces of somebody are to go: of one ``application``, or of all that an ``applicant`` sent.

    An open recourse ends with it, and applications of these people that were sent before it are refused after it.
    """

    program: ProgramName
    application: Identifier | None = None
    applicant: Identifier | None = None

    def __post_init__(self) -> None:
        check_who(self.application, self.applicant)


class RawErasure(Struct, frozen=True, gc=False, forbid_unknown_fields=True):
    """An erasure as the journal holds it. ``key`` is random: with it repeats are recognised without a name."""

    program: ProgramName
    application: Identifier | None = None
    applicant: Identifier | None = None
    key: str = ""

    def __post_init__(self) -> None:
        check_who(self.application, self.applicant)


def check_who(application: str | None, applicant: str | None) -> None:
    """Raise ``ValueError`` unless exactly one of the two is named."""
    if (application is None) == (applicant is None):
        raise ValueError("name either an application or an applicant")


class Suggested(Struct, frozen=True, gc=False):
    """A part of an answer. ``str`` gives it in words, its fields in numbers."""

    def to_dict(self) -> dict[str, Any]:
        """The same as plain dicts, lists, texts and numbers: what stands on the wire as JSON."""
        plain: dict[str, Any] = msgspec.json.decode(msgspec.json.encode(self))
        return plain


def set_apart(category: Value) -> str:
    """A category in a sentence: in quotation marks where it has several words or a digit.

    Examples
    --------
    >>> print(set_apart("north"), set_apart("4 to 7 years"))
    north "4 to 7 years"
    """
    text = str(category)
    return f'"{text}"' if any(char.isspace() or char.isdigit() for char in text) else text


class Change(Suggested, frozen=True, gc=False):
    """One feature to change, in raw values.

    ``current_given`` is false where the application did not give the feature: ``current`` is then the spec's
    ``missing`` value, not the person's own. It is absent everywhere else. Beyond ``at_most``, on the side of the
    target that is away from ``current``, the option may be rejected; where it is absent more is accepted too, or the
    program does not look at it.

    Examples
    --------
    >>> change = Change("income", current=59, target=68, unit="kEUR")
    >>> print(change)
    raise income from 59 to 68 kEUR
    >>> change.target - change.current
    9
    >>> print(Change("employed", current="1 to 4 years", target="4 to 7 years"))
    change employed from "1 to 4 years" to "4 to 7 years"
    >>> print(Change("income", current=59, target=68, unit="kEUR", current_given=False))
    raise income to 68 kEUR (the current value was not given)
    >>> print(Change("monthly_income", current=59, target=68))
    raise monthly income from 59 to 68
    >>> print(Change("income", current=59, target=68, unit="kEUR", at_most=75))
    raise income from 59 to 68 kEUR, and no further than 75
    """

    feature: str
    current: Value
    target: Value
    unit: str | None = None
    current_given: bool | UnsetType = UNSET
    at_most: Value | UnsetType = UNSET

    def __str__(self) -> str:
        return self._change_in_words() + self._end_in_words()

    def _end_in_words(self) -> str:
        if self.at_most is UNSET:
            return ""
        end = set_apart(self.at_most) if isinstance(self.at_most, str) else f"{self.at_most:,.10g}"
        return f", and no further than {end}"

    def _change_in_words(self) -> str:
        unit, name = f" {self.unit}" if self.unit else "", readable(self.feature)
        not_given = " (the current value was not given)"
        if isinstance(self.current, str) or isinstance(self.target, str):
            if self.current_given is False:
                return f"change {name} to {set_apart(self.target)}{unit}{not_given}"
            return f"change {name} from {set_apart(self.current)} to {set_apart(self.target)}{unit}"
        verb = "raise" if self.target > self.current else "lower"
        if self.current_given is False:
            return f"{verb} {name} to {self.target:,.10g}{unit}{not_given}"
        return f"{verb} {name} from {said(self.current, self.target):,.10g} to {self.target:,.10g}{unit}"


class Step(Change, frozen=True, gc=False):
    """One change of a plan, as it is when its turn comes: ``current`` is what the steps before it leave.

    It is easier after the changes of the features ``easier_after``, which come earlier in the plan, and before those of
    ``easier_before``, which come later. Both are absent where the order makes no difference to it.

    Examples
    --------
    >>> print(Step("income", current=59, target=68, unit="kEUR", easier_after=("education",)))
    raise income from 59 to 68 kEUR (easier after changing education)
    """

    easier_after: tuple[str, ...] | UnsetType = UNSET
    easier_before: tuple[str, ...] | UnsetType = UNSET

    def __str__(self) -> str:
        named = ("after", self.easier_after), ("before", self.easier_before)
        reasons = [
            f"{when} changing {' and '.join(map(readable, names))}" for when, names in named if names is not UNSET
        ]
        return Change.__str__(self) + (f" (easier {', '.join(reasons)})" if reasons else "")


GuaranteeWords = Callable[[Mapping[str, float]], str | None]
"""Puts the numbers of a promise into words; None where they are of no promise that it knows."""
_guarantee_words: GuaranteeWords | None = None


def set_guarantee_words(in_words: GuaranteeWords) -> None:
    """Let options tell what is promised in these words: ``schemas`` knows no promise."""
    global _guarantee_words
    _guarantee_words = in_words


def _minute(time: str) -> str:
    """A time without its seconds. Its day alone would be too much: what ends as a day begins does not hold on it."""
    return f"{time[:10]} {time[11:16]} UTC"


def _followed(change: Change) -> str:
    """What follows from changes, in words."""
    now, to, unit = change.current, change.target, f" {change.unit}" if change.unit else ""
    if isinstance(now, str) or isinstance(to, str):
        return f"{readable(change.feature)} from {set_apart(now)} to {set_apart(to)}{unit}"
    return f"{readable(change.feature)} from {said(now, to):,.10g} to {said(to, now):,.10g}{unit}"


class Option(Suggested, frozen=True, gc=False):
    """One concrete set of changes.

    ``id`` names the option within its recourse, ``candidate`` the arm that the choice learns about. ``cost`` is in the
    unit of the program's cost function (dimensionless for l1). ``execution_probability`` is the probability that the
    person carries all changes out: exp(-nu cost), or in a program with rounds the product over the changed features by
    their learned difficulties. ``learned_execution_probability`` is the choice's own estimate of it, None where nothing
    is learned.
    ``improvement_probability`` is how probably the option helps who carries it out, before anything is learned; absent
    where the program compares options by cost. ``learned_improvement_probability`` is what outcomes make of it, in
    programs that read rows without a label, and where options have an ``improvement_interval``: there it is the better
    one from the first outcome on. It is absent in others, and in a revised recourse. The interval has the two ends
    between which that probability lies for a single person, at the level that the spec asks for. It is absent where the
    spec asks for none, where nothing tells how far the probability may be off, and in a revised recourse. ``suits`` is
    the share of sampled people for whom it is the cheapest of the recourse; absent where the program's cost is known or
    the person could be asked, and in a revised recourse. ``promise`` holds what the program's promise guarantees, as
    numbers by name; ``status`` is then open, until the recourse expires.

    ``steps`` are the changes in the order to make them, where the order counts or a feature is changed in several
    steps. ``changes`` is what they come to together.

    ``follows`` are features that then move, too, without being changed by the person, each with its value before and
    after; absent where nothing follows.

    ``text`` is what a person reads of it, in each language of the spec's words; absent where it has none.

    Examples
    --------
    >>> changes = Change("income", 59, 63), Change("debts", 6, 5)
    >>> option = Option("3", changes, cost=0.15, execution_probability=0.96, propensity=1.0)
    >>> print(option)
    raise income from 59 to 63; lower debts from 6 to 5  (cost 0.150)
    >>> print(option.in_words("told"))
    raise income from 59 to 63; lower debts from 6 to 5  (cost 0.150, carried out with probability 0.96)
    >>> [change.feature for change in option.changes]
    ['income', 'debts']
    >>> steps = Step("debts", 6, 5), Step("income", 59, 63, easier_after=("debts",))
    >>> print(msgspec.structs.replace(option, steps=steps))
    (1) lower debts from 6 to 5; (2) raise income from 59 to 63 (easier after changing debts)  (cost 0.150)
    """

    candidate: str
    changes: tuple[Change, ...]
    cost: float
    execution_probability: float
    propensity: float
    id: str = "1"
    promise: dict[str, float] | None = None
    learned_execution_probability: float | None = None
    status: Literal["open"] | UnsetType = UNSET
    improvement_probability: float | UnsetType = UNSET
    suits: float | UnsetType = UNSET
    steps: tuple[Step, ...] | UnsetType = UNSET
    text: dict[str, str] | UnsetType = UNSET
    follows: tuple[Change, ...] | UnsetType = UNSET
    learned_improvement_probability: float | UnsetType = UNSET
    improvement_interval: tuple[float, float] | UnsetType = UNSET

    @property
    def expected_help(self) -> float | UnsetType:
        """How probably it helps who carries it out, by all that is known; unset where nothing is."""
        learned = self.learned_improvement_probability
        return self.improvement_probability if learned is UNSET else learned

    def __str__(self) -> str:
        return self.in_words()

    @property
    def after(self) -> dict[str, Value]:
        """The values after the option of the features that are changed, and of those that follow."""
        follows = () if self.follows is UNSET else self.follows
        return {change.feature: change.target for change in (*self.changes, *follows)}

    @property
    def actions(self) -> str:
        """What to do, in words: those of the program, else the steps, numbered where there are several, or the changes.

        Of several steps of a feature the first one has the reason for its place.
        """
        if self.text:
            return self.text[first_language(self.text)]
        if self.steps is UNSET:
            follows = "" if not self.follows else f"; what follows: {', '.join(map(_followed, self.follows))}"
            return "; ".join(map(str, self.changes)) + follows
        named, words = set[str](), list[str]()
        for step in self.steps:
            words.append(Change.__str__(step) if step.feature in named else str(step))
            named.add(step.feature)
        return words[0] if len(words) == 1 else "; ".join(f"({at}) {word}" for at, word in enumerate(words, 1))

    def in_words(self, execution_source: ExecutionSource | None = None) -> str:
        """The changes, the cost, how probably a person carries them out, what then comes of it, and the promise.

        An assumed probability of the first is left out: nobody knows it.
        """
        probability = self.learned_execution_probability
        if probability is None and execution_source == "told":
            probability = self.execution_probability
        known = "" if probability is None else f", carried out with probability {probability:.2f}"
        if self.expected_help is not UNSET:
            known += f", wanted outcome with probability {self.expected_help:.2f}"
            if self.improvement_interval is not UNSET:
                known += ", between {:.2f} and {:.2f}".format(*self.improvement_interval)
        if self.suits is not UNSET:
            known += f", the easiest for {self.suits:.0%}"
        return f"{self.actions}  (cost {self.cost:.3f}{known}{self._certificate()})"

    def _certificate(self) -> str:
        """What is promised of later models, where something is, after a semicolon: in words, or number by number."""
        if not self.promise:
            return ""
        words = None if _guarantee_words is None else _guarantee_words(self.promise)
        return f"; {words or ', '.join(f'{name} {number:.3g}' for name, number in self.promise.items())}"


class Recourse(Suggested, frozen=True, gc=False, tag_field="kind", tag="recourse"):
    """A way forward for one rejected application: one option or more, best first.

    ``step`` counts the program shard's answers from 0. ``policy_version`` changes with everything that makes the policy
    pick as it does, except what it has learned. ``applicant`` is the one that the application named. ``expires_at`` is
    the event time until which the goal holds, and the promise. ``model`` is the version of the model, and
    ``model_sha256`` the hash of its manifest, which holds the hash of each of its files: it identifies the model. None
    stands in events of older versions.

    ``revision`` counts the answers that were given again, from 1, because a new model rejects what was suggested. Its
    options stand for those of the same ids: on the same arm, or on another where that has none left. The step stays.

    In a program with rounds, ``round`` is the one in which the person was rejected and ``target_score`` the score that
    wins a place in the rounds after it, up to ``until_round``, but in the ``rounds_without_places``; who applies after
    ``valid_from`` comes to the first of them. This holds as a long-run average: of those who reach their target scores,
    the share ``capacity.coverage`` of the spec gets a place. It is no guarantee for one person. The goal and the
    promise count with ``execution_probability``.

    ``execution_source`` says where the probability that a person carries an option out comes from. ``assumed``: from
    the cost and the default nu. ``told``: from the cost and the nu in the program's spec. ``learned``: the choice
    learns it from outcomes, as ``learned_execution_probability``, or the rounds from people who come back. None stands
    in events of older versions.

    ``improvement_source`` says where the probability that an option helps comes from: from the ``labels`` of the
    training data, or from the ``score`` of the model, which came without an estimate. It is absent where the program
    compares options by cost.

    Where the person was asked, ``answers`` are those that it rests on, the number of the picked plan in each question,
    from 1, null where they would take none of them. ``regret`` is by how much the first option is expected to be worse
    than the person's best plan, in units of cost: a plan that helps with probability p counts as -log(p) / nu dearer.

    ``satisfied`` is the share of sampled people whom one option costs at most the spec's ``policy.satisfied``. It is
    absent where the program's cost is known, and in a revised recourse.

    Examples
    --------
    >>> option = Option("3", (Change("debts", 6, 4),), cost=0.222, execution_probability=0.95, propensity=1.0)
    >>> recourse = Recourse(
    ...     program="loans", shard=0, application="ada", step=0, options=(option,),
    ...     policy="posterior", policy_version="5f1c", spec="ac13", model="v1",
    ... )
    >>> print(recourse)
    ada: 1 way forward
      1. lower debts from 6 to 4  (cost 0.222)
    >>> recourse.to_dict()["options"][0]["changes"]
    [{'feature': 'debts', 'current': 6, 'target': 4, 'unit': None}]
    """

    program: str
    shard: int
    application: str
    step: int
    options: tuple[Option, ...]
    policy: str
    policy_version: str
    spec: str
    model: str
    closes_after_steps: int | None = None
    closes_at: str | None = None
    applicant: str | None = None
    expires_at: str | None = None
    execution_source: ExecutionSource | None = None
    model_sha256: str | None = None
    round: int | UnsetType = UNSET
    target_score: float | UnsetType = UNSET
    until_round: int | UnsetType = UNSET
    rounds_without_places: tuple[int, ...] | UnsetType = UNSET
    valid_from: str | UnsetType = UNSET
    revision: int | UnsetType = UNSET
    improvement_source: ImprovementSource | UnsetType = UNSET
    regret: float | UnsetType = UNSET
    answers: tuple[int | None, ...] | UnsetType = UNSET
    satisfied: float | UnsetType = UNSET

    @property
    def is_revision(self) -> bool:
        """Whether it stands for an earlier answer, of the same step."""
        return self.revision is not UNSET

    def __str__(self) -> str:
        count = len(self.options)
        until = "" if self.expires_at is None else f" until {_minute(self.expires_at)}"
        assumed = "of the kinds of people that the program assumes"
        satisfied = "" if self.satisfied is UNSET else f", easy enough for {self.satisfied:.0%} {assumed}"
        declined = self.answers is not UNSET and self.answers and not any(self.answers)
        unsuited = ", which may not suit: none of the plans asked about did" if declined else ""
        ways, enough = ("1 way forward", "") if count == 1 else (f"{count} ways forward", " (one is enough)")
        options = (
            self.options if count > 1 else [msgspec.structs.replace(option, suits=UNSET) for option in self.options]
        )
        lines = (f"  {option.id}. {option.in_words(self.execution_source)}" for option in options)
        return "\n".join([f"{self.application}: {ways}{until}{enough}{satisfied}{unsuited}", *lines])


class Reason(Suggested, frozen=True, gc=False):
    """A principal reason of a decision against a person, in words.

    ``feature`` is absent where no feature is the reason, such as a lack of places. ``value`` is the person's own; it is
    absent where the application did not give it, and of personal data (``pii``).

    Examples
    --------
    >>> print(Reason("income is too low", "income", 12))
    income is too low
    """

    text: str
    feature: str | UnsetType = UNSET
    value: Value | UnsetType = UNSET

    def __str__(self) -> str:
        return self.text


class NoRecourse(Suggested, frozen=True, gc=False, tag_field="kind", tag="none"):
    """A rejected application without any option, with the rule that excluded the last candidates.

    In a program with rounds, ``round`` is the one in which the person was rejected, and ``target_score`` the score to
    reach. Where ``reason`` is ``apply_again``, their score is above it already, and it is promised to win a place up to
    ``until_round``, as in a recourse; else it was out of reach.

    ``detail`` is for the person: why there is nothing, and what they could do. ``text`` is the same in each language of
    the spec's words; absent where it has none. ``advice`` and ``scores`` are for the program's owners: the smallest
    relaxation of the spec that gives the person an option; and which features and rules stand in the way, with the
    score that was required and the best that the person can reach. Both are absent where nothing is known. Events of
    older versions have in ``detail`` what is for the owners. ``reasons`` are those of the decision, as in
    ``ModelDecision``.

    Examples
    --------
    >>> none = NoRecourse(
    ...     program="loans", shard=0, application="bob", step=1,
    ...     reason="max_changes", detail="We found no change that would be enough today.",
    ...     policy="posterior", policy_version="5f1c", spec="ac13", model="v1",
    ... )
    >>> print(none)
    bob: no way forward: We found no change that would be enough today.
    """

    program: str
    shard: int
    application: str
    step: int
    reason: str
    detail: str
    policy: str
    policy_version: str
    spec: str
    model: str
    applicant: str | None = None
    model_sha256: str | None = None
    round: int | UnsetType = UNSET
    target_score: float | UnsetType = UNSET
    until_round: int | UnsetType = UNSET
    rounds_without_places: tuple[int, ...] | UnsetType = UNSET
    valid_from: str | UnsetType = UNSET
    expires_at: str | UnsetType = UNSET
    advice: str | UnsetType = UNSET
    reasons: tuple[Reason, ...] | UnsetType = UNSET
    scores: str | UnsetType = UNSET
    text: dict[str, str] | UnsetType = UNSET

    @property
    def heading(self) -> str:
        """Words for what the person does not get: in a program with rounds, an option with the promise of a place."""
        return "no way forward" if self.target_score is UNSET else "no option that a place can be promised for"

    def __str__(self) -> str:
        if self.reason == APPLY_AGAIN:
            until = f" until {_minute(self.expires_at)}" if isinstance(self.expires_at, str) else ""
            return f"{self.application}: nothing need change{until}: {self.detail}"
        return f"{self.application}: {self.heading}: {self.detail or self.reason}"


class Question(Suggested, frozen=True, gc=False):
    """Which of these plans would a rejected person take? Their answer names ``number`` and the id of an option.

    ``number`` counts the person's questions from 1. Each answer brings the next question or the recourse. Answers count
    until ``expires_at``; then the recourse comes by what is known.

    Examples
    --------
    >>> plans = (Change("debts", 6, 4),), (Change("income", 35, 52, "kEUR"),)
    >>> options = tuple(Option(str(n), plan, 0.2, 0.9, 1.0, str(n)) for n, plan in enumerate(plans, 1))
    >>> print(Question("loans", 0, "ada", 1, options, "2026-03-08T00:00:00.000Z", spec="ac13", model="v1"))
    ada: which of these would be easier for you? (question 1, until 2026-03-08 00:00 UTC)
      1. lower debts from 6 to 4
      2. raise income from 35 to 52 kEUR
    """

    program: str
    shard: int
    application: str
    number: int
    options: tuple[Option, ...]
    expires_at: str
    spec: str
    model: str
    applicant: str | None = None
    model_sha256: str | None = None

    def __str__(self) -> str:
        asks = (
            f"{self.application}: which of these would be easier for you? "
            f"(question {self.number}, until {_minute(self.expires_at)})"
        )
        return "\n".join([asks, *(f"  {option.id}. {option.actions}" for option in self.options)])


class Reward(Struct, frozen=True, gc=False):
    """A fate.

    ``rewarded``, ``censored`` and ``unseen`` close a recourse, exactly once each. ``late`` and ``dangling`` are for
    outcomes that came too late to count, or that have no recourse. ``option`` and ``candidate`` are those of the
    credited option; they are None where a recourse has several and the outcome names none. ``acted`` says whether its
    person carried an option out, as far as it was known when the recourse was closed; it is absent where nobody knew.
    ``reward`` is 0 where nothing was heard in the window, also where the learner learns nothing from that.
    """

    program: str
    shard: int
    application: str
    fate: Fate
    reward: float | None = None
    step: int | None = None
    candidate: str | None = None
    outcome: str | None = None
    option: str | None = None
    acted: bool | UnsetType = UNSET


class EndedRecourse(Struct, frozen=True, gc=False):
    """A recourse that was open when its person was erased: the one of this ``step`` of this ``shard``."""

    shard: int
    step: int


class Erased(Struct, frozen=True, gc=False):
    """The receipt of an erasure in a journal partition, which names nobody.

    ``erasure`` is where it was read: topic, partition and offset. It has a receipt of each journal ``partition`` that
    keeps a shard of the program. ``cases`` were deleted, and ``waiting`` events that waited for them; the fate of
    ``recourses`` is *withdrawn*, and ``promises`` ended with them.
    """

    program: str
    erasure: str
    by: Literal["application", "applicant"]
    partition: int
    cases: int
    waiting: int
    promises: int
    recourses: tuple[EndedRecourse, ...]


class ModelDecision(Struct, frozen=True, gc=False):
    """Whether a program that decides by its own model approved an application.

    ``model`` is the version that decided, ``model_sha256`` the hash of its manifest, and ``spec`` the sha256 of the
    spec.

    In a program with rounds, who is approved got a place in ``round``. ``score`` is the one under ``model``, None where
    the model cannot score the features. ``threshold`` is the lowest score that got a place, 0 when nobody was rejected.

    ``reasons`` are the principal reasons why an application is rejected, four at most and the foremost first. They are
    absent where it is approved, and where the model's bundle does not tell what people whom it approves are like.
    """

    program: str
    shard: int
    application: str
    approved: bool
    model: str
    spec: str
    applicant: str | None = None
    model_sha256: str | None = None
    round: int | UnsetType = UNSET
    score: float | UnsetType | None = UNSET
    threshold: float | UnsetType = UNSET
    reasons: tuple[Reason, ...] | UnsetType = UNSET


class Coverage(Struct, frozen=True, gc=False):
    """How many of those who reached the score that they were promised got a place.

    ``achieved`` is the share over all ``rounds`` so far; None before anybody reached one. ``nominal`` is the one that
    the spec asks for.
    """

    nominal: float
    achieved: float | None
    rounds: int


class Threshold(Struct, frozen=True, gc=False):
    """A closed round of a program with limited places.

    ``threshold`` is the lowest score that got a place; 0 when nobody was rejected. ``goal`` is the score that those who
    were rejected are told to reach, None where nobody was, ``forecast`` the goal without the correction by the coverage
    so far. ``newcomers`` came without an open promise, ``returned`` with one, and ``reached`` of these had the promised
    score. ``drift`` names what changed its distribution: ``threshold``, ``newcomers``. ``model_sha256`` is the hash of
    the model's manifest.
    """

    program: str
    shard: int
    round: int
    ended_at: str
    places: int
    applicants: int
    newcomers: int
    returned: int
    reached: int
    accepted: int
    threshold: float
    goal: float | None
    forecast: float | None
    until_round: int | None
    coverage: Coverage
    open_promises: int
    drift: tuple[Drifted, ...]
    model: str
    model_sha256: str | None = None


class PromiseChange(Struct, frozen=True, gc=False, tag_field="kind", tag="end"):
    """The end of a promise.

    In a program with rounds the promise is that ``target_score`` wins a place up to ``until_round``. ``kept``: the
    person came back and got a place; ``broken``: they came back with the promised score and got none; ``superseded``:
    they came back with less, and their new answer counts; ``expired``: they did not come back in time. ``round`` is the
    one in which the promise was made, ``settled_in`` the one that ended it.

    Elsewhere the promise is that each of ``options`` (their ids in the recourse) holds, and ``reason``
    says why it ended. ``kept``: the person did what the option asks and is approved (``approved``). ``broken``: a new
    model rejects the option (``model``), or the person did what it asks and is rejected, since something else changed
    too (``other_features``), or by another system's ``decision``. ``superseded``: the person came back without having
    done it, and is approved all the same (``approved``) or has a new answer (``answered``). ``expired``: they did not
    come back in time. ``replaced`` are the options for which a revised recourse has others.

    ``model`` is the version of the model that decides then, ``model_sha256`` the hash of its manifest. They are absent
    and None in events of older versions.

    ``by`` is the application that they came back with, and ``score`` what it scored.
    """

    program: str
    shard: int
    application: str
    status: PromiseStatus
    applicant: str | None = None
    by: str | None = None
    score: float | None = None
    target_score: float | UnsetType = UNSET
    round: int | UnsetType = UNSET
    until_round: int | UnsetType = UNSET
    settled_in: int | UnsetType = UNSET
    options: tuple[str, ...] | UnsetType = UNSET
    reason: PromiseReason | UnsetType = UNSET
    replaced: tuple[str, ...] | UnsetType = UNSET
    model: str | UnsetType = UNSET
    model_sha256: str | None = None


class Revalidation(Struct, frozen=True, gc=False, tag_field="kind", tag="revalidation"):
    """What a new model means for the open options of a shard, once all of them have been looked at.

    ``open`` counts those that were open when the model came, without those that ended meanwhile. ``cleared`` of them
    survive it by their certificate, without being scored; ``accepted`` were scored, and the model accepts them.
    ``honoured`` ones it rejects, but people who take them are judged by the model that made them. ``broken`` ones it
    rejects, each told by an event of its own; for ``replaced`` of these there is a revised recourse. ``worst_margin``
    is by how much the least of the accepted scores exceeds the threshold, None where none was scored. ``left`` were not
    looked at before another model came; 0 otherwise. ``model_sha256`` is the hash of the model's manifest, None in
    events of older versions.
    """

    program: str
    shard: int
    model: str
    open: int
    cleared: int
    accepted: int
    honoured: int
    broken: int
    replaced: int
    worst_margin: float | None
    left: int = 0
    model_sha256: str | None = None


class Sums(Struct, frozen=True, gc=False, forbid_unknown_fields=True):
    """The sums of an array that are not 0: their places in it, row by row and from 0, and there multiples of 2^-20."""

    at: tuple[Annotated[int, Meta(ge=0, lt=2**53)], ...]
    units: tuple[Annotated[int, Meta(gt=-(2**53), lt=2**53)], ...]


class Increment(Struct, frozen=True, gc=False, forbid_unknown_fields=True):
    """What a shard has learned since its last increment, for the other shards of its program.

    ``number`` counts the increments of a shard from 1: a copy has the number of another. ``outcomes`` is how many
    outcomes and picks are in it. ``arms`` is the hash of the program's arms, by whose numbers some of the sums are;
    ``evidence`` are the sums by the names that the learner gives them, and those of what picks teach. Internal: nobody
    but Onward writes or needs it.
    """

    program: ProgramName
    shard: Annotated[int, Meta(ge=0, lt=1024)]
    number: Annotated[int, Meta(ge=1, lt=2**53)]
    outcomes: Annotated[int, Meta(ge=1, lt=2**53)]
    arms: Annotated[str, Meta(pattern="^[0-9a-f]{64}$")]
    evidence: Mapping[str, Sums]


class DeadLetter(Struct, frozen=True, gc=False):
    """A record that Onward could not use: the reason, its position, and its original bytes (base64 in JSON).

    ``value`` is cut at the size limit when the record was oversized; ``size`` and ``sha256`` are of the whole.
    ``refused_as`` is ``record`` where ingest could not use it, ``event`` where it was well-formed and could not be
    applied: then its ``ce_id`` may be among the processed events. None stands in events of older versions.
    ``last_offset`` is there for a batch of records that was not read, from ``offset`` on: it may unpack to more than
    the limit. ``size`` and ``sha256`` are then of the batch as the broker holds it, and ``value`` is null.
    With ``count`` it is about so many records, all from ``offset`` to ``last_offset``: ``size`` and ``sha256`` are of
    their values one behind the other, and the rest is of the first.
    In the journal ``value`` and ``key`` are null: they are read from the input topic when it is published.
    """

    reason: Annotated[str, Meta(min_length=1)]
    detail: str
    topic: str
    partition: int
    offset: int
    size: int
    sha256: str
    value: bytes | None
    key: bytes | None = None
    headers: tuple[tuple[str, bytes], ...] = ()
    refused_as: Literal["record", "event"] | None = None
    last_offset: int | UnsetType = UNSET
    count: int | UnsetType = UNSET


class SourcePosition(Struct, frozen=True, gc=False, array_like=True):
    """The clock of one input partition: the latest event time read from it, None while it is not known."""

    topic: str
    partition: Int64
    time_ms: Milliseconds | None


class Return(Struct, frozen=True, gc=False):
    """That somebody came back, in the journal partition of their earlier ``application``.

    Ingest appends it where that is another partition than the one of the application ``by`` which they came back, with
    its features and its applicant.
    """

    program: str
    application: Identifier
    by: Identifier
    features: Mapping[str, Value | None]
    applicant: Identifier | None = None


class RawReturn(Struct, frozen=True, gc=False):
    """A return whose features are still JSON."""

    program: str
    application: Identifier
    by: Identifier
    features: Raw
    applicant: Identifier | None = None


class Tick(Struct, frozen=True, gc=False):
    """Event time passing in input partitions that have nothing to read. Ingest appends it to the journal."""

    sources: tuple[SourcePosition, ...]


class Journaled(Struct, frozen=True, gc=False, omit_defaults=True):
    """One event as a line of a journal record, which is an array of lines.

    ``time`` is the event time, ``timestamp`` that of the input's Kafka record, both in milliseconds since the epoch.
    ``topic``, ``partition`` and ``offset`` are the position of the input record; a tick has none. ``data`` is the
    event's own JSON, as it was sent. ``clock`` is how far the event moves the clock of its input partition, where that
    is less than ``time``: no event moves one far beyond the time at which it is read.
    """

    type: str
    id: str
    time: Milliseconds
    timestamp: Int64
    data: Raw
    topic: str | None = None
    partition: Int64 = -1
    offset: Int64 = -1
    source: str | None = None
    clock: Milliseconds | None = None


@cache
def identifier_fields(struct: type[Struct]) -> tuple[str, ...]:
    """The names of a struct's fields that hold an identifier."""
    hints: dict[str, Any] = get_type_hints(struct, include_extras=True)
    return tuple(name for name, hint in hints.items() if Identifier in (hint, *get_args(hint)))

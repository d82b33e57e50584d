"""The program spec: one decision process, as its owners describe it.

A YAML spec decodes to these structs. ``specfile.py`` reads the file, checks the rules that types cannot express, and
explains every error with its line. All values are raw, in the units of the applications.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Annotated, Literal

from msgspec import UNSET, Meta, Struct, UnsetType
from msgspec.structs import force_setattr

from .events import ProgramName, Value
from .words.form import LanguageTag, LanguageWords

Mutable = Literal["none", "up", "down", "any", "follows"]
FeatureType = Literal["continuous", "integer", "ordinal", "categorical"]
Name = Annotated[str, Meta(min_length=1, max_length=100, pattern=r'^[^"\\\x00-\x1f]+$')]
"""A name that JSON writes without escapes: no quotation mark, backslash or control character."""
Share = Annotated[str, Meta(pattern=r"^[0-9]+([.][0-9]+)?%$")]
"""A share of something, in per cent."""


class Feature(Struct, frozen=True, forbid_unknown_fields=True):
    """One feature of an application.

    ``continuous`` and ``integer`` need ``bounds``; ``ordinal`` needs ``levels`` from lowest to highest;
    ``categorical`` needs ``categories``. ``one_hot`` names the data columns of a categorical feature, one a category
    in the same order (default ``NAME:CATEGORY``); where it names one less, the first category has none, and is that of
    rows with 0 in all. ``step`` is the smallest change a person can make, and ``max_change`` the largest that they are
    asked for: a number, or a share of their own value such as ``25%``; levels are counted. ``largest_step`` is the most
    that one step of a plan changes. An application whose feature is absent or null is read as if it had the value
    ``missing``. So is one whose feature has one of the values ``not_given``, such as codes: these are no values, and
    nobody is told to reach one. One that ``follows`` moves by ``effects`` alone: people do not change it themselves.
    Nobody is to be told to change a ``protected`` feature, and training tells whether the model reads it; false says
    that a feature is not what its name suggests. The groups of people with one value each of an ``audit`` feature are
    watched: it decides no option.
    """

    name: Name
    type: FeatureType
    mutable: Mutable = "any"
    bounds: tuple[float, float] | None = None
    step: Annotated[float, Meta(gt=0)] | None = None
    max_change: Annotated[float, Meta(gt=0)] | Share | None = None
    unit: str | None = None
    levels: tuple[str, ...] | None = None
    categories: tuple[str, ...] | None = None
    one_hot: tuple[str, ...] | None = None
    pii: bool = False
    protected: bool | None = None
    missing: Value | None = None
    not_given: tuple[Value, ...] = ()
    largest_step: Annotated[float, Meta(gt=0)] | None = None
    audit: bool = False

    @property
    def may_change(self) -> bool:
        """Whether people may be told to change it themselves."""
        return self.mutable not in ("none", "follows")

    @property
    def values(self) -> tuple[str, ...]:
        """The names of its levels or categories; none of a number."""
        return self.levels or self.categories or ()

    @property
    def largest_change(self) -> tuple[float, float]:
        """The largest change, and the largest share of the person's own value; infinite where there is no such rule."""
        if isinstance(self.max_change, str):
            return math.inf, float(self.max_change.removesuffix("%")) / 100.0
        return (math.inf if self.max_change is None else self.max_change), math.inf


class Condition(Struct, frozen=True, forbid_unknown_fields=True):
    """A comparison of one feature with a constant; exactly one operator is given."""

    feature: Name
    equals: Value | None = None
    at_least: float | None = None
    at_most: float | None = None


class Rule(Struct, frozen=True, forbid_unknown_fields=True, rename={"if_": "if"}):
    """If the changed person meets ``if``, they must meet ``then``."""

    if_: Condition
    then: Condition


class Constraints(Struct, frozen=True, forbid_unknown_fields=True):
    """What must hold across features after a change. ``le`` holds pairs: the first must not exceed the second."""

    max_changes: Annotated[int, Meta(ge=1)] | None = None
    le: tuple[tuple[Name, Name], ...] = ()
    rules: tuple[Rule, ...] = ()


class Effect(Struct, frozen=True, forbid_unknown_fields=True, rename={"from_": "from"}):
    """What follows from a change of the feature ``from``: the feature ``to`` changes by ``slope`` times as much.

    ``deviation`` is the standard deviation of that slope between people. Both are raw, in units of ``to`` for one unit
    of ``from``; training fits what is left out. A change after which ``to`` would be outside its bounds is not
    proposed, or ``to`` stops ``at_bounds``.
    """

    from_: Name
    to: Name
    slope: float | None = None
    deviation: Annotated[float, Meta(ge=0)] | None = None
    at_bounds: Literal["refuse", "stop"] | UnsetType = UNSET

    def __post_init__(self) -> None:
        # What is meant without saying it has the bytes of specs that say nothing.
        if self.at_bounds == "refuse":
            force_setattr(self, "at_bounds", UNSET)

    @property
    def stops(self) -> bool:
        """Whether what follows stops at the bounds of ``to``."""
        return self.at_bounds == "stop"


UNDECIDED = "undecided"
"""``Label.desired`` of a spec in which nobody has said it yet. No value of a label can be called so."""


class Label(Struct, frozen=True, forbid_unknown_fields=True):
    """The column of the training data that says what happened, and which of its values is the desired one.

    A draft writes ``undecided`` where only people can say which. No program begins with it. Nobody knows what came of
    a row with one of the values ``not_given``, such as a code, or with an empty cell. It is left out; or, where such
    rows are ``missing: unlabelled``, it says what people are like and who gets a label, and no more.
    """

    name: Name
    desired: Value = 1
    not_given: tuple[Value, ...] = ()
    missing: Literal["unlabelled"] | None = None

    @property
    def are_selected(self) -> bool:
        """Whether not everybody of the data has a label, and those without one are read."""
        return self.missing is not None


class ModelReference(Struct, frozen=True, forbid_unknown_fields=True):
    """The first model of the program. ``manifest`` is a path relative to the spec, or any fsspec address.

    ``may_read`` names the protected features by which this and every later model of the program may decide.
    """

    manifest: str
    threshold: Annotated[float, Meta(ge=0, le=1)] = 0.5
    may_read: tuple[Name, ...] | None = None


class Window(Struct, frozen=True, forbid_unknown_fields=True):
    """How long an outcome may take: a number of steps, or an event time (ISO 8601 duration such as P90D).

    In stages it is two event times: people have ``acted`` to carry an option out, and ``outcome`` until it is known
    whether it helped, both counted from the recourse.

    ``acting`` says how people are seen who carry one out: they come back (``returns``) or somebody says so
    (``reports``). Who is not seen by the end of ``acted`` has not acted, then. Without it, silence says nothing.

    ``lateness`` bounds how far records of one input partition may be out of time order, and how far the clocks of
    different senders may be apart.
    """

    steps: Annotated[int, Meta(ge=1, le=1_000_000)] | None = None
    time: timedelta | None = None
    lateness: timedelta = timedelta(minutes=1)
    acted: timedelta | None = None
    outcome: timedelta | None = None
    acting: Literal["returns", "reports"] | None = None

    @property
    def length(self) -> timedelta | None:
        """The event time that an outcome may take; None where the window counts steps."""
        return self.time if self.outcome is None else self.outcome

    @property
    def whole(self) -> Window:
        """One window for both stages, as choices have that do not learn by stages."""
        return self if self.outcome is None else Window(time=self.outcome, lateness=self.lateness)


DEFAULT_WINDOW = Window(time=timedelta(days=90))
"""Long enough to change something, and to see whether it helped. Steps may pass within seconds."""


CHOICES: Mapping[str, str] = {"improvement": "residual", "cost": "posterior"}
"""The choice of a policy that names none, by its objective."""
INSTANCES, CHOICE_AMONG_INSTANCES = "instances", "posterior"
"""That generator's options are whole rows, the same for everybody: what each is worth is best learned of each alone."""


LABEL_PRIOR = "label_prior"
"""What says whether changes help, of a policy that names nothing else."""


def objective_for_choice(choice: str) -> Literal["improvement", "cost"]:
    """The objective of a choice that serves without a spec of its own: the default one helps, others compare costs."""
    return "improvement" if choice == CHOICES["improvement"] else "cost"


class Policy(Struct, frozen=True, forbid_unknown_fields=True):
    """Which suggestion is chosen and how its difficulty is counted.

    ``objective`` says what options are for: that they are carried out and help (``improvement``), or that they are easy
    (``cost``). ``generator`` and ``goal`` name methods, as ``choice`` does, which follows from the objective and the
    generator where none is named. ``options`` is the most options that a recourse may have.

    ``improvement`` names what training fits to say whether a change helps, where the objective is ``improvement``.

    Nobody is told of an option after which the wanted outcome has a probability below ``least_help``, or one that is
    not higher by ``least_gain`` than for the person as they are. It is the ``improvement`` that says it.

    With an ``improvement_interval``, which is its level, options say between which probabilities they help. Then
    ``least_help`` may be asked of its ``lower_end``, as it is before outcomes teach anything (``least_help_of``).

    ``overshoot`` says what becomes of options that are rejected when somebody does more than they were told: they are
    no options (``refuse``), or they say where to stop, and come after those that need not (``limit``), except after
    questions. Where nothing is named, nobody asks.

    For a ``second_way`` the last of several options is one without the features that all others change, where there is
    one.

    ``lasting`` is the share of the model's retrains, models of other samples of the data, that should accept an option
    too: who has options that so many accept is told of no other. It says nothing under a model that came without any.

    ``margin`` is how far above the threshold an option must score. ``auto`` takes the one that training measured, and
    refuses a model without one. Without a margin in the spec the measured one is taken where the objective is
    ``cost`` and the model has one.
    ``target`` names the score that an option must exceed instead.

    A goal for rounds with limited places takes ``goal_parameters``, and needs ``capacity``, which no other goal takes.

    ``nu`` scales cost in the execution probability exp(-nu cost), where somebody knows it. Where nobody does,
    ``assumed_nu`` stands for it; by default 4/D with D the encoded columns, and 1/D where the objective is ``cost``.
    ``parameters`` are those of the choice (docs/reference/spec.md lists them), and
    ``generator_parameters`` those of the generator. ``exploration`` is the share of steps whose candidate is drawn
    evenly among the feasible ones instead, so that another policy can be evaluated.

    ``cost`` names how hard changes are, and takes ``cost_parameters``. Where it is a distribution of cost functions,
    ``samples`` is how many stand for a person (300), and ``satisfied`` what an option may cost one who is content with
    it (1).
    """

    objective: Literal["improvement", "cost"] = "improvement"
    improvement: Name = LABEL_PRIOR
    choice: Annotated[str, Meta(max_length=100)] = ""
    parameters: dict[str, float] = {}
    generator: Name = "search"
    generator_parameters: dict[str, float] = {}
    goal: Name = "threshold"
    goal_parameters: dict[str, float] = {}
    least_help: Annotated[float, Meta(ge=0, lt=1)] | None = None
    least_gain: Annotated[float, Meta(ge=0, lt=1)] | None = None
    improvement_interval: Annotated[float, Meta(gt=0, lt=1)] | None = None
    least_help_of: Literal["lower_end"] | None = None
    overshoot: Literal["refuse", "limit"] | None = None
    second_way: bool = False
    lasting: Annotated[float, Meta(gt=0, le=1)] | None = None
    margin: Annotated[float, Meta(ge=0, le=1)] | Literal["auto"] | None = None
    target: Annotated[float, Meta(ge=0, lt=1)] | None = None
    options: Annotated[int, Meta(ge=1, le=10)] = 3
    cost: Name = "l1"
    cost_parameters: dict[str, float] = {}
    samples: Annotated[int, Meta(ge=1, le=10_000)] | None = None
    satisfied: Annotated[float, Meta(gt=0)] | None = None
    nu: Annotated[float, Meta(ge=0)] | None = None
    assumed_nu: Annotated[float, Meta(ge=0)] | None = None
    exploration: Annotated[float, Meta(ge=0, le=1)] = 0.0
    window: Window = DEFAULT_WINDOW
    seed: Annotated[int, Meta(ge=0)] = 0

    def __post_init__(self) -> None:
        if not self.choice:
            by_default = CHOICE_AMONG_INSTANCES if self.generator == INSTANCES else CHOICES[self.objective]
            force_setattr(self, "choice", by_default)


class Retention(Struct, frozen=True, forbid_unknown_fields=True):
    """How long a case is remembered, in event time: once it is closed (and so the ids of events that could not be
    applied), and while nobody has decided it. After that it is deleted, and its name may be used again."""

    closed: timedelta = timedelta(days=30)
    undecided: timedelta = timedelta(days=365)


FIRST_ROUND_END = datetime(1970, 1, 5, tzinfo=UTC)
"""A Monday: when the first round of a calendar without a ``start`` ends."""


class Capacity(Struct, frozen=True, forbid_unknown_fields=True):
    """Limited places, for a program whose ``policy.goal`` is one for rounds.

    ``places`` is how many applications a round approves. ``round`` is its length: rounds end at ``start`` and every
    ``round`` after it; by default the first is a Monday, 5 January 1970, at midnight UTC. Without ``round`` they end
    when events on the topic ``rounds`` say so.

    People who are rejected are told a score that wins a place in the next ``horizon`` rounds; ``coverage`` is the share
    of those who reach it that is to get one. ``offset`` says whether the goal is corrected by the coverage so far, by
    default as the goal prefers. ``beta`` is how likely changes succeed: one with attainability a and difficulty d fails
    with probability exp(-beta a / d), and difficulties are learned from those who come back.

    With a ``season`` a round has the places of the one so many rounds before, where nobody has announced them: after
    one that had none it has none.
    """

    places: Annotated[int, Meta(ge=1, le=10**9)]
    round: timedelta | None = None
    start: Annotated[datetime, Meta(tz=True)] = FIRST_ROUND_END
    horizon: Annotated[int, Meta(ge=1, le=1000)] = 1
    coverage: Annotated[float, Meta(gt=0, lt=1)] = 0.95
    offset: bool | None = None
    beta: Annotated[float, Meta(gt=0)] = 0.05
    season: Annotated[int, Meta(ge=2, le=1000)] | UnsetType = UNSET


class PromiseTerms(Struct, frozen=True, forbid_unknown_fields=True):
    """What an option guarantees to the person who takes it, when the model is trained again.

    ``kind`` names a method. It takes those of ``norm``, ``radius`` and ``quantile`` that are among its parameters, and
    its other ones in ``parameters``. ``margin`` is by how much an option's score, under all the models that the promise
    speaks of, must exceed the threshold.

    Each option is open for ``valid_for``, in event time. A new model is asked whether it accepts them still. With
    ``grandfather``, people whose option it rejects are judged by the model that made the option until it expires.
    """

    kind: Name = "none"
    norm: Annotated[float, Meta(ge=1)] | Literal["inf"] = 2.0
    radius: Annotated[float, Meta(ge=0)] | Literal["auto"] = "auto"
    quantile: Annotated[float, Meta(gt=0, lt=1)] = 0.05
    margin: Annotated[float, Meta(ge=0, lt=1)] = 0.0
    valid_for: timedelta = timedelta(days=90)
    grandfather: bool = False
    parameters: dict[str, float | str] | UnsetType = UNSET

    def __post_init__(self) -> None:
        if not self.parameters:
            force_setattr(self, "parameters", UNSET)


class PriorComponent(Struct, frozen=True, forbid_unknown_fields=True):
    """A kind of people: its share of all, and the ``mean`` and standard deviation ``sd`` of what changes cost them.

    ``mean`` holds a weight for each feature, in the spec's order, then one for each influence. ``sd`` is a list of as
    many numbers, or one for all.
    """

    probability: Annotated[float, Meta(ge=0, le=1)]
    mean: tuple[float, ...]
    sd: Annotated[float, Meta(ge=0)] | tuple[Annotated[float, Meta(ge=0)], ...]


class WeightPrior(Struct, frozen=True, forbid_unknown_fields=True):
    """What is known of people's weights before they answer: a mixture of Gaussians."""

    components: Annotated[tuple[PriorComponent, ...], Meta(min_length=1, max_length=100)]


DEFAULT_DEADLINE = timedelta(days=7)
"""How long people may take to answer, where the spec does not say it."""


class ElicitationTerms(Struct, frozen=True, forbid_unknown_fields=True):
    """How people are asked which of several plans they would take.

    They are asked at most ``questions``, with ``options`` plans each, and no more when the expected regret is at most
    the share ``tolerance`` of the expected least cost. ``response`` says how they answer: always for the plan that is
    the easiest for them, or the more probably the easier it is. Answers count for the ``deadline`` after the rejection.

    ``influences`` are pairs of features: what it costs to change the second depends on the value of the first.
    ``prior`` says what weights people have: the path of a JSON file, relative to the spec, or its content. A spec that
    was read holds the content.
    """

    questions: Annotated[int, Meta(ge=1, le=10)] = 3
    options: Annotated[int, Meta(ge=2, le=5)] = 2
    tolerance: Annotated[float, Meta(ge=0, lt=1)] = 0.02
    response: Literal["logistic", "noiseless"] = "logistic"
    prior: WeightPrior | str | None = None
    influences: tuple[tuple[Name, Name], ...] = ()
    deadline: timedelta = DEFAULT_DEADLINE


class Instances(Struct, frozen=True, forbid_unknown_fields=True):
    """The recourse instances, which are rows of the data. ``publish`` says that everybody may read them whole, where
    options copy them."""

    publish: bool = False


class ProgramSpec(Struct, frozen=True, forbid_unknown_fields=True):
    """One decision process.

    ``decisions`` says who decides: ``external`` (events on the decisions topic) or ``model`` (the program's own).
    ``candidates`` is the most recourse instances to use, and ``instances`` says who may read them; ``shards`` splits
    the program, one learner each.

    ``effects`` say which features follow when people change others: pairs of names, or what is known of each.
    ``computed`` are features that follow from others in every row: what each is made of, such as ``housing / income``.

    ``words`` are what people read, by language: the path of a folder with a file a language, relative to the spec, or
    their content. A spec that was read holds the content.
    """

    program: ProgramName
    features: Annotated[tuple[Feature, ...], Meta(min_length=1)]
    label: Label
    model: ModelReference
    policy: Policy = Policy()
    constraints: Constraints = Constraints()
    effects: tuple[tuple[Name, Name] | Effect, ...] = ()
    computed: dict[Name, str] = {}
    decisions: Literal["model", "external"] = "model"
    candidates: Annotated[int, Meta(ge=1)] = 200
    retention: Retention = Retention()
    capacity: Capacity | None = None
    promise: PromiseTerms = PromiseTerms()
    elicitation: ElicitationTerms | None = None
    shards: Annotated[int, Meta(ge=1, le=1024)] = 1
    instances: Instances = Instances()
    words: dict[LanguageTag, LanguageWords] | str | None = None

    @property
    def barred(self) -> tuple[str, ...]:
        """The names of the protected features that the program's models may not read."""
        allowed = self.model.may_read or ()
        return tuple([feature.name for feature in self.features if feature.protected and feature.name not in allowed])

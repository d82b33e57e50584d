"""What training has measured of a model: a struct a measure, as the manifest keeps them.

``streams/programs/training/measures/`` measures them and puts them into words.
"""

from __future__ import annotations

from msgspec import Struct

from ....schemas.unlabelled import Unlabelled


class Quality(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """How good a model is, on ``held_out_rows`` rows that it was not fitted on; an imported one on all rows.

    ``approval_rate`` is the share of them that it approves, ``desired_rate`` that of those with the desired label.
    ``just_above`` is this share among the rows whose scores the model just accepts, where options are to help.
    """

    accuracy: float
    balanced_accuracy: float
    roc_auc: float
    brier_score: float
    approval_rate: float
    desired_rate: float
    held_out_rows: int
    training_rows: int | None = None
    just_above: float | None = None


class Approvals(Struct, frozen=True, forbid_unknown_fields=True):
    """The shares of the people whom the model approves: of its judged rows with a label, and of those without one."""

    labelled: float
    unlabelled: float


class Data(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """The rows that a model was made of.

    ``instances`` are those that may be recourse instances. ``fewest_alike`` is how many rows are like the kept instance
    that the fewest are like, where options copy instances. ``broken`` counts the rows that break a constraint across
    features, by the constraint. ``approvals`` are known where rows without a label are read.
    """

    instances: int
    fewest_alike: int | None = None
    unlabelled: Unlabelled | None = None
    approvals: Approvals | None = None
    broken: dict[str, int] = {}


class Served(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """What becomes of ``rejected`` people of the data; all others are shares of them.

    ``without_option`` have none, ``at_threshold`` not even for the bare threshold and without a promise. ``breaking``
    have none and break a constraint across features as they are, ``below_floor`` have only options below the floor, and
    ``up_to_a_point`` only options that are rejected when they do more. Where a round may ask for a ``round_score``,
    ``in_round`` have no option that exceeds it. ``only_ways`` have no option that does not change a feature, by the
    feature. ``many_changes`` is the share of their best options with more than four changes.
    """

    rejected: int
    without_option: float
    at_threshold: float | None = None
    breaking: float = 0.0
    below_floor: float | None = None
    up_to_a_point: float | None = None
    round_score: float | None = None
    in_round: float | None = None
    only_ways: dict[str, float] = {}
    many_changes: float | None = None


class Margin(Struct, frozen=True, forbid_unknown_fields=True):
    """The share of pairs of a cheapest option and a retrained model in which it accepts the option."""

    accepted: float


class EqualMargin(Struct, frozen=True, forbid_unknown_fields=True):
    """A plain margin whose cheapest options as many models of other rows accept as those of a promise.

    ``cost`` is the mean cost of its options, ``promised_cost`` of those of the promise, of the same people, and
    ``accepted`` the share of pairs of a promised option and a model in which it accepts the option.
    """

    margin: float
    cost: float
    promised_cost: float
    accepted: float


class Promised(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """The means of what the promise guarantees, by name, and a plain margin that is as valid, where one is."""

    means: dict[str, float] = {}
    equal_margin: EqualMargin | None = None


class Lasted(Struct, frozen=True, forbid_unknown_fields=True):
    """What a rule gives and costs.

    ``share`` of the pairs of an option and a model that rejects its person, the model accepts the option. ``cost`` is
    the mean cost of a person's options, ``relative`` that of the people who have some by the program's own rules too,
    as a multiple of theirs, and ``without`` the share of people who have none.
    """

    share: float
    cost: float
    relative: float
    without: float


OWN, BARE = "own", "bare"
"""The rules of the spec as it is, and none beyond the model's threshold. Others are named by their line of a spec."""


class MeasuredLasting(Struct, frozen=True, forbid_unknown_fields=True):
    """How many options last, by so many ``models`` of other samples and for so many ``people``, by each rule."""

    models: int
    people: int
    rules: dict[str, Lasted]


class Doubts(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """What the rows have against what follows in a spec.

    ``broken`` and ``undefined`` are the shares of rows in which a computed feature is not what the spec says, or
    nothing at all, and ``against`` the fitted slopes of effects whose own slope has the other sign.
    """

    broken: dict[str, float] = {}
    undefined: dict[str, float] = {}
    against: dict[str, float] = {}


class Measured(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """All measures of a model; None where one was not taken.

    ``protected`` are the shares of decisions that another value of a protected or audited feature alone would change,
    of the features that the model reads.
    """

    quality: Quality | None = None
    data: Data | None = None
    served: Served | None = None
    margin: Margin | None = None
    promise: Promised | None = None
    lasting: MeasuredLasting | None = None
    protected: dict[str, float] = {}
    effects: Doubts | None = None

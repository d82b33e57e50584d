"""The differences of a changed spec, and those that a program refuses.

What may not change is the same for all specs that a program has had. So a new spec may be held against any of them, and
everybody comes to the same answer: a sender, ingest, and the engine in each journal partition.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import msgspec

from ...agents import choices
from ...schemas.effects import effects_of
from ...schemas.spec import ProgramSpec
from ...schemas.spec_document import document
from ..errors import UsageError
from .limited_places import closes_rounds
from .promised import has_promise

Path = tuple[str, ...]
Bounds = Mapping[str, tuple[float, float]]
"""By the names of features."""

FEATURE_RULES = frozenset(
    {"bounds", "mutable", "step", "max_change", "largest_step", "unit", "pii", "protected", "audit"}
)
"""The fields of a feature that say what people may do, and words. The others say what the feature is."""
POLICY_RULES = frozenset(
    {
        "options",
        "exploration",
        "seed",
        "margin",
        "target",
        "satisfied",
        "least_help",
        "least_gain",
        "improvement_interval",
        "overshoot",
        "second_way",
        "lasting",
    }
)
CAPACITY_RULES = frozenset({"places", "coverage"})
ELICITATION_RULES = frozenset({"questions", "options", "tolerance", "deadline"})

FEATURES = "cases, open options and what is learned are encoded by the features"
LEARNED = "what is learned was learned with it"
PROMISED = "what people were promised was promised with it"
NO_TRAINED_BOUNDS = "the program's first model does not say which bounds it was trained with"
UNTRAINED = "the program's first model was trained with {}, and knows nothing beyond"
LOWER_END = "`lower_end` asks every model of the program for intervals, and those announced so far were not asked"
AUTO = "`auto` asks every model of the program for a margin, and those announced so far were not asked"
STOPPED = "what people were promised stops at these bounds"
ROUNDS = "people wait for the end of their round with it"
REASONS: Mapping[str, str] = {
    "program": "another program is another name",
    "label": LEARNED,
    "policy": LEARNED,
    "shards": "the shard that knows an application follows from it; give new applications a program of another name",
    "decisions": "people who wait for a decision would never hear of one",
    "capacity": "rounds are numbered and their goal has learned by it",
    "promise": PROMISED,
    "elicitation": "costs are counted, and answers understood, by it",
    "model": PROMISED,
    "retention": ROUNDS,
}
"""Why a part of the spec is fixed, by its name."""


class SpecChange(NamedTuple):
    """A field that differs between two specs, its values as JSON, and why that is refused; None where it may change."""

    path: str
    old: str
    new: str
    refusal: str | None

    def __str__(self) -> str:
        return f"{self.path}: {self.old} -> {self.new}"


class SpecRefusedError(UsageError):
    """A program cannot go on with this spec."""


def changes(old: ProgramSpec, new: ProgramSpec, trained: Bounds | None) -> list[SpecChange]:
    """The differences in the meaning of two specs, in the order of the spec's fields.

    ``trained`` are the bounds with which the program's first model was trained; None where these are not known, and
    bounds may be any.
    """
    return [
        SpecChange(".".join(path), before, after, _refusal(path, old, new, trained))
        for path, before, after in _differences(old, new)
    ]


def check_changes(old: ProgramSpec, new: ProgramSpec, trained: Bounds) -> None:
    """Raise ``SpecRefusedError`` with each change that is refused, and why."""
    refused = [change for change in changes(old, new, trained) if change.refusal is not None]
    if refused:
        raise SpecRefusedError(
            "; ".join(
                f"{refused_change.path} cannot change: {refused_change.refusal} ({refused_change})"
                for refused_change in refused
            )
        )


def _differences(old: ProgramSpec, new: ProgramSpec) -> Iterator[tuple[Path, str, str]]:
    before, after = (msgspec.json.decode(document(spec), type=dict[str, Any]) for spec in (old, new))
    names, others = ([feature.name for feature in spec.features] for spec in (old, new))
    if names != others:
        gone, come = (
            [name for name in present if name not in other] for present, other in ((names, others), (others, names))
        )
        differ = (gone, come) if gone or come else (names, others)
        yield ("features",), _listed(differ[0]), _listed(differ[1])
        del before["features"], after["features"]
    values = [dict(_leaves(fields)) for fields in (before, after)]
    for path in dict.fromkeys((*values[0], *values[1])):
        was, now = (_text(leaves.get(path)) for leaves in values)
        if was != now:
            yield path, was, now


def _leaves(value: Any, path: Path = ()) -> Iterator[tuple[Path, Any]]:
    if path == ("features",):
        for feature in value:
            yield from _leaves(feature, (*path, feature["name"]))
    elif isinstance(value, dict):
        for name in value:
            yield from _leaves(value[name], (*path, name))
    else:
        yield path, value


def _listed(names: Sequence[str]) -> str:
    return ", ".join(names) or "none"


def _text(value: Any) -> str:
    return "none" if value is None else msgspec.json.encode(value).decode()


def _refusal(path: Path, old: ProgramSpec, new: ProgramSpec, trained: Bounds | None) -> str | None:
    """Why a field cannot change. What is named nowhere here is fixed, such as a field that a later version adds."""
    rounds = closes_rounds(old) or closes_rounds(new)
    match path:
        case ("features", name, "bounds"):
            if has_promise(old) and any(effect.stops and effect.to == name for effect in effects_of(old)):
                return STOPPED
            return None if trained is None else _bounds_refusal(name, new, trained)
        case ("features", _, field):
            return None if field in FEATURE_RULES else FEATURES
        case ("features",):
            return FEATURES
        case ("policy", "parameters", name):
            return LEARNED if name in choices.registry[old.policy.choice].fixed_parameters else None
        case ("policy", "margin"):
            return AUTO if "auto" in (old.policy.margin, new.policy.margin) else None
        case ("policy", "least_help_of"):
            return LOWER_END
        case ("model", "threshold"):
            return PROMISED if rounds or has_promise(old) else None
        case ("model", "may_read"):
            return None
        case ("retention", "undecided"):
            return ROUNDS if rounds else None
        case ("effects" | "computed", *_):
            return PROMISED if has_promise(old) else None
        case ("constraints" | "words", *_) | ("candidates",) | ("retention", _) | ("promise", "valid_for"):
            return None
        case ("instances", _):
            return None
        case ("policy", "window" | "goal_parameters", _):
            return None
        case ("policy", field) if field in POLICY_RULES:
            return None
        case ("capacity", field) if field in CAPACITY_RULES:
            return None
        case ("elicitation", field) if field in ELICITATION_RULES and old.elicitation and new.elicitation:
            return None
    return REASONS.get(path[0], "it is fixed for the life of a program")


def _bounds_refusal(name: str, new: ProgramSpec, trained: Bounds) -> str | None:
    bounds = next(feature.bounds for feature in new.features if feature.name == name)
    if name not in trained:
        return NO_TRAINED_BOUNDS
    (low, high), wide = bounds or (0.0, 0.0), trained[name]
    return None if wide[0] <= low <= high <= wide[1] else UNTRAINED.format(f"{wide[0]:g} to {wide[1]:g}")

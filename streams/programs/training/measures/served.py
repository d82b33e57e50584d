"""How many rejected people a new model leaves without an option, and how many features the options change."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np
from msgspec.structs import replace

from .....agents.goals import ThresholdGoal
from .....agents.promises import NoPromise, whole_percent
from .....agents.scores import rounded_down
from .....schemas.spec import ProgramSpec
from ....advice import MANY_CHANGES, advice, broken_in_data
from ...bundle.manifest import Manifest
from ...bundle.measured import Served
from ...limited_places import closes_rounds, round_score
from ...margin import goal_of, margin_of
from ...promised import has_promise
from ..sample import RejectedSample
from ..trained import Trained
from ..unsaved_program import Floats

MOST_FEATURES = 3
"""So many features are named at most."""


def measure(trained: Trained) -> Served | None:
    """What becomes of the first rejected people of the data; None where nobody is rejected."""
    recourse = trained.table.X[trained.split.recourse]
    scores = trained.model.score(recourse[trained.approves(recourse)])
    return None if trained.sample is None else served(trained.sample, round_score(trained.spec, scores))


def served(sample: RejectedSample, asked: float | None = None) -> Served:
    """What becomes of the people of a sample, where a round may have ``asked`` for a score."""
    program, people = sample.program, sample.people
    without = np.setdiff1d(np.arange(len(people)), sample.proposals.people)
    up_to_a_point, below_floor = _lost_by_rule(sample, people[without])
    changes = program.changes(sample.owner, sample.targets, people) if len(sample.owner) else None
    return Served(
        len(people),
        len(without) / len(people),
        _without_at_threshold(sample, people[without]),
        int((~program.space.allowed(people[without])).sum()) / len(people),
        below_floor,
        up_to_a_point,
        asked,
        None if asked is None else 1.0 - _share_served(sample, asked),
        dict(_only_ways(sample)),
        None if changes is None else float((changes > MANY_CHANGES).mean()),
    )


def _without_at_threshold(sample: RejectedSample, without: Floats) -> float | None:
    """The share of the people, of those ``without`` an option (n, D), who have none at the bare threshold either.

    None where this is the goal.
    """
    if not sample.margin and isinstance(sample.promise, NoPromise):
        return None
    goal = goal_of(sample.spec, 0.0)
    served = np.unique(sample.program.vetting_under(sample.program.score, goal).propose(without).people)
    return (len(without) - len(served)) / len(sample.people)


def _share_served(sample: RejectedSample, score: float) -> float:
    """The share of the people who have an option that exceeds a score."""
    proposals = sample.program.vetting_under(sample.program.score, ThresholdGoal(score)).propose(sample.people)
    return len(np.unique(proposals.people)) / len(sample.people)


def _lost_by_rule(sample: RejectedSample, without: Floats) -> tuple[float | None, float | None]:
    """The shares of the people who are ``without`` an option (n, D) by each rule on what they are told.

    The rules are the refusal of options that work up to a point, and the floor; None for one that the spec does not
    have. Somebody who has no option above the floor counts as below it, whatever becomes of a person who does more.
    """
    program, people = sample.program, len(sample.people)
    limited = program._replace(policy=replace(program.policy, overshoot=None))
    up_to_a_point: float | None = None
    below_floor: float | None = None
    if program.policy.overshoot == "refuse":
        served = np.unique(limited.vetting_under(sample.robust, sample.goal).propose(without).people)
        up_to_a_point = len(served) / people
    if program.objective.floor is not None:
        free = limited._replace(objective=program.objective._replace(floor=None))
        served = np.unique(free.vetting_under(sample.robust, sample.goal).propose(without).people)
        below_floor = len(served) / people - (up_to_a_point or 0.0)
    return up_to_a_point, below_floor


def _only_ways(sample: RejectedSample) -> Iterator[tuple[str, float]]:
    """The share of people all of whose options change a feature, by feature; those of nobody are left out."""
    owner, features = sample.proposals.people, sample.spec.features
    of_feature = np.eye(len(features), dtype=bool)[sample.program.space.feature_of]
    before = sample.people[owner]
    changed = ((sample.program.objective.acted(sample.proposals.targets, before) != before) @ of_feature).astype(bool)
    needed = np.array([changed[owner == person].all(axis=0) for person in np.unique(owner).tolist()])
    for at in np.flatnonzero(needed.sum(axis=0)).tolist() if len(needed) else ():
        yield features[at].name, needed.sum(axis=0).item(at) / len(sample.people)


def serves_nobody(served: Served | None) -> bool:
    """Whether no rejected person of the data has an option, or none in a round."""
    return served is not None and 1.0 in (served.without_option, served.in_round)


def in_words(manifest: Manifest, spec: ProgramSpec) -> Iterator[str]:
    """The share of rejected people without an option, that of options with many changes, and what to do about it."""
    served = manifest.measured.served
    if served is None:
        return
    none, many = served.without_option, served.many_changes
    people = f"of {served.rejected} rejected people of the data"
    line = f"{people} {none:.1%} have no option" if none else f"{people} all have an option"
    if closes_rounds(spec):
        line += f" above the threshold, {spec.model.threshold:g}; a round may ask for a higher score"
    if served.round_score is not None:
        line += f": above {rounded_down(served.round_score)}, {served.in_round:.1%} have none"
    if served.at_threshold is not None and served.at_threshold < none:
        line += f" ({served.at_threshold:.1%} without the {'promise' if has_promise(spec) else 'margin'})"
    yield line + (f"; {many:.1%} of the options have more than {MANY_CHANGES} changes" if many else "")
    yield from _rules_in_words(manifest, spec, served)
    ways = served.only_ways
    if most := sorted(ways, key=lambda name: (-ways[name], name))[:MOST_FEATURES]:
        yield f"  no way without a change of {', '.join(f'{name}: {ways[name]:.1%}' for name in most)}"
    if not serves_nobody(served):
        yield from what_to_do(manifest, spec)


def _rules_in_words(manifest: Manifest, spec: ProgramSpec, served: Served) -> Iterator[str]:
    """Whom the floor of options and the refusal of some leave without one, and what to do about it."""
    quality, least = manifest.measured.quality, spec.policy.least_help
    above = None if quality is None else quality.just_above
    if served.below_floor:
        floors = {"least_help": least, "least_gain": spec.policy.least_gain}
        rules = [f"{name}: {value:g}" for name, value in floors.items() if value is not None]
        of_lower_end = spec.policy.least_help_of == "lower_end"
        rules += ["least_help_of: lower_end"] if of_lower_end else []
        yield (f"  {served.below_floor:.1%} have only options that would not help: they are below `{', '.join(rules)}`")
        if of_lower_end:
            yield "  without `policy.least_help_of` the floor is asked of what is said of help, not of its lower end"
        elif least is not None and above is not None and above < least:
            yield (
                f"  of the people whom the model just accepts, {whole_percent(above)} have the wanted label: "
                f"`policy.least_help: {rounded_down(above)}` asks no more of an option"
            )
    if served.up_to_a_point:
        told_them = "`policy.overshoot: limit` tells them"
        yield f"  {served.up_to_a_point:.1%} have only options that work up to a point: {told_them}"


def what_to_do(manifest: Manifest, spec: ProgramSpec) -> list[str]:
    """Advice to the owners of a model's program, where the share of people without an option is high."""
    served, data = manifest.measured.served, manifest.measured.data
    if served is None:
        return []
    none = max(served.without_option, served.in_round or 0.0)
    broken: Mapping[str, int] = {} if data is None else data.broken
    margin = margin_of(spec, manifest.margin)
    return [*broken_in_data(broken), *advice(spec, margin, none, served.many_changes or 0.0, served.breaking)]

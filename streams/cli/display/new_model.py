"""The output of the commands that make a model."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import msgspec
from msgspec import UNSET, UnsetType
from rich.console import Console
from rich.table import Table

from ....agents.candidates import registry
from ....agents.promises import whole_percent
from ....agents.scores import rounded_down
from ....schemas.spec import ProgramSpec
from ...advice import ACCEPTED, LASTING, MANY_CHANGES, advice, broken_in_data
from ...programs import effects
from ...programs.bundle.manifest import MANIFEST, Manifest
from ...programs.limited_places import closes_rounds
from ...programs.margin import margin_of
from ...programs.objective import needs_improvement
from ...programs.promised import has_promise, promise_on
from ...programs.selected_labels import APPROVED, OTHERS_APPROVED, covers_less, selected_in_words
from ...programs.training.lasting import BARE, FACTS, OWN, Lasted, asked_of, lasted
from ...programs.training.protected import PREFIX, protected_in_words
from ...programs.training.served import BELOW_THE_FLOOR, BREAKING, BROKEN, ONLY_UP_TO_A_POINT, ONLY_WAY, PROMISED

IN_WORDS = (
    "instances",
    "retrained_accept",
    "rejected_sampled",
    "without_option",
    BROKEN,
    "round_score",
    "many_changes",
    BELOW_THE_FLOOR,
    ONLY_UP_TO_A_POINT,
    "just_above",
    ONLY_WAY,
    "equal_margin",
    PROMISED,
    PREFIX,
    FACTS,
    effects.BROKEN,
    effects.UNDEFINED,
    effects.AGAINST,
    APPROVED,
    OTHERS_APPROVED,
)
"""Metrics that are told in sentences, by the beginnings of their names."""
EQUAL_COST = 0.02
"""The share by which mean costs may differ and count as equal."""
MOST_FEATURES = 3
"""So many features are named at most."""
FLAT = 1e-9
"""Predictions that differ by less are the same, but for rounding."""


def tell_dates(columns: Sequence[str]) -> None:
    """Say on standard error that a promise was measured on random halves of rows that have dates."""
    if columns:
        names = ", ".join(columns)
        tell(f"the data have dates ({names}): with `--date-column NAME` the promise is measured on later rows instead")


def tell(text: str) -> None:
    """Print a line on standard error."""
    Console(stderr=True).out(text, highlight=False)


def print_model(manifest: Manifest, spec: ProgramSpec, output: Path) -> None:
    """Print how good a new model is, whom it leaves without an option, and where it is."""
    table = Table("metric", "value")
    for name, value in manifest.metrics.items():
        if not name.startswith(IN_WORDS):
            table.add_row(name.replace("_", " "), f"{value:.4f}" if value != int(value) else f"{value:.0f}")
    lines = (
        *_margin(manifest, spec),
        *_promise(manifest, spec),
        *_improvement(manifest, spec),
        *_served(manifest, spec),
        *_lasting(manifest),
        *_instances(manifest, spec),
        *effects.fitted_in_words(spec, manifest.effects),
        *_left_out(spec),
        f"manifest: {output / MANIFEST}",
    )
    console = Console()
    console.out(f"{manifest.program}: model {manifest.version}", highlight=False)
    console.print(table)
    for line in lines:
        console.out(line, highlight=False)
    words = (
        *protected_in_words(manifest.metrics),
        *selected_in_words(manifest.metrics),
        *effects.doubts_in_words(manifest.metrics, manifest.effects),
    )
    for line in words:
        tell(f"warning: {line}")
    if _serves_nobody(manifest):
        where = "" if manifest.metrics["without_option"] == 1.0 else " in such a round"
        tell("; ".join([f"warning: with this spec nobody is served{where}", *_what_to_do(manifest, spec)[:1]]))


def _improvement(manifest: Manifest, spec: ProgramSpec) -> Iterator[str]:
    """The estimate of whether an option helps, and how far it can be believed."""
    if not needs_improvement(spec):
        return
    if isinstance(manifest.improvement, UnsetType):
        yield "whether options help: by the model's score, since the labels cannot say it"
        return
    brier, auc, reliability = msgspec.structs.astuple(manifest.improvement.calibration)
    means = [mean for mean, _, _ in reliability]
    if max(means) - min(means) < FLAT:
        yield "whether options help: the labels do not tell it, so options are the easiest that the model accepts"
        return
    observed = " ".join(f"{share:.2f}" for _, share, _ in reliability)
    yield f"whether options help: by the labels, Brier score {brier:.3f}, area under the curve {auc:.3f}"
    yield f"  by tenths of the rows kept aside, predicted: {' '.join(f'{mean:.2f}' for mean in means)}"
    yield f"  by tenths of the rows kept aside, observed:  {observed}"
    if covers_less(manifest.metrics):
        yield "  all of these have a label: it says nothing of people unlike them, such as most whom the model rejects"


def _instances(manifest: Manifest, spec: ProgramSpec) -> Iterator[str]:
    """How many rows of the data are in the bundle, where its generator uses them."""
    if registry[spec.policy.generator].uses_instances:
        accepted, most = int(manifest.metrics["instances"]), spec.candidates
        yield f"recourse instances: {min(accepted, most)} kept of {accepted} found (candidates in the spec: {most})"


def _left_out(spec: ProgramSpec) -> Iterator[str]:
    """The protected features that the model does not read."""
    if names := ", ".join(spec.barred):
        yield f"protected, and not read by the model: {names} (`model: {{may_read: [...]}}` lets it decide by them)"


def _margin(manifest: Manifest, spec: ProgramSpec) -> Iterator[str]:
    """The margin, and whether it is what was wanted."""
    if manifest.margin is UNSET:
        return
    share, line = manifest.metrics.get("retrained_accept"), f"margin: {manifest.margin:g} above the threshold"
    if spec.policy.objective != "cost":
        yield line
    elif share is None:
        yield f"{line}: it could not be measured, because no rejected person has an option even at the bare threshold"
    elif share < ACCEPTED:
        last = LASTING[0].upper() + LASTING[1:]
        yield (
            f"{line}: models trained on other rows of the data accept {whole_percent(share)} of the options; the "
            f"wanted {ACCEPTED:.0%} is reached by no margin that leaves nine of ten people an option of few changes. "
            f"{last}"
        )
    else:
        yield line


def _promise(manifest: Manifest, spec: ProgramSpec) -> Iterator[str]:
    """The measurements of the promise."""
    metrics = manifest.metrics
    means = {name.removeprefix(PROMISED): mean for name, mean in metrics.items() if name.startswith(PROMISED)}
    for line in promise_on(spec.promise).measured_in_words(means):
        yield f"promise: {line}"
    if manifest.promise_calibration is not UNSET:
        yield from _equal_margin(metrics, manifest.promise_calibration.models)


def _equal_margin(metrics: Mapping[str, float], models: int) -> Iterator[str]:
    """The cost of a plain margin that is as valid, and which of the two is cheaper."""
    if "equal_margin" not in metrics:
        return
    cost, promised = metrics["equal_margin_cost"], metrics["equal_margin_promised_cost"]
    margin, accepted = metrics["equal_margin"], metrics["equal_margin_accepted"]
    line = (
        f"a plain `policy.margin: {margin:.2g}` makes as many of these models accept the cheapest options "
        f"({whole_percent(accepted)}; {models} were asked), at a mean cost of {cost:.3g} beside {promised:.3g}"
    )
    if cost < (1.0 - EQUAL_COST) * promised:
        yield f"{line}: it is cheaper; take it where no certificate of single options is needed"
    elif promised < (1.0 - EQUAL_COST) * cost:
        yield f"{line}: the promise is cheaper"
    else:
        yield f"{line}: neither is cheaper"


def _served(manifest: Manifest, spec: ProgramSpec) -> Iterator[str]:
    """The share of rejected people without an option, that of options with many changes, and what to do about it."""
    metrics = manifest.metrics
    if "without_option" not in metrics:
        return
    none, many = metrics["without_option"], metrics.get("many_changes", 0.0)
    bare = metrics.get("without_option_at_threshold", none)
    people = f"of {metrics['rejected_sampled']:.0f} rejected people of the data"
    line = f"{people} {none:.1%} have no option" if none else f"{people} all have an option"
    if closes_rounds(spec):
        line += f" above the threshold, {spec.model.threshold:g}; a round may ask for a higher score"
    if "round_score" in metrics:
        in_round = f"{metrics['without_option_in_round']:.1%}"
        line += f": above {rounded_down(metrics['round_score'])}, {in_round} have none"
    condition = "promise" if has_promise(spec) else "margin"
    line += f" ({bare:.1%} without the {condition})" if bare < none else ""
    yield line + (f"; {many:.1%} of the options have more than {MANY_CHANGES} changes" if many else "")
    yield from _floor(metrics, spec)
    yield from _refused(metrics)
    yield from _only_ways(metrics)
    if not _serves_nobody(manifest):
        yield from _what_to_do(manifest, spec)


def _floor(metrics: Mapping[str, float], spec: ProgramSpec) -> Iterator[str]:
    """Whom the floor of options leaves without one, and what a lower one would be."""
    least, above = spec.policy.least_help, metrics.get("just_above")
    if lost := metrics.get(BELOW_THE_FLOOR):
        gain = spec.policy.least_gain
        floors = [f"least_{name}: {value:g}" for name, value in (("help", least), ("gain", gain)) if value is not None]
        of_lower_end = spec.policy.least_help_of == "lower_end"
        floors += ["least_help_of: lower_end"] if of_lower_end else []
        yield f"  {lost:.1%} have only options that would not help: they are below `{', '.join(floors)}`"
        if of_lower_end:
            yield "  without `policy.least_help_of` the floor is asked of what is said of help, not of its lower end"
        elif least is not None and above is not None and above < least:
            yield (
                f"  of the people whom the model just accepts, {whole_percent(above)} have the wanted label: "
                f"`policy.least_help: {rounded_down(above)}` asks no more of an option"
            )


def _refused(metrics: Mapping[str, float]) -> Iterator[str]:
    """Whom it leaves without an option that those are refused which work only up to a point."""
    if lost := metrics.get(ONLY_UP_TO_A_POINT):
        yield f"  {lost:.1%} have only options that work up to a point: `policy.overshoot: limit` tells them"


def _only_ways(metrics: Mapping[str, float]) -> Iterator[str]:
    """The features without which the most people have no way."""
    shares = {name.removeprefix(ONLY_WAY): share for name, share in metrics.items() if name.startswith(ONLY_WAY)}
    most = sorted(shares, key=lambda name: (-shares[name], name))[:MOST_FEATURES]
    if most:
        yield f"  no way without a change of {', '.join(f'{name}: {shares[name]:.1%}' for name in most)}"


def _lasting(manifest: Manifest) -> Iterator[str]:
    """How many options last, what other rules would give and cost, and what it would take where too few do."""
    found = lasted(manifest.metrics)
    if OWN not in found:
        return
    people, models = asked_of(manifest.metrics)
    own = found.pop(OWN)
    yield (
        f"options that last: models of other samples accept {_share(own)}, of people whom they reject unchanged "
        f"({models} models and {people} people were asked)"
    )
    for rule, other in found.items():
        name = "none of this: the bare threshold" if rule == BARE else f"`{rule}`"
        yield f"  with {name}: {_share(other)}{_price(other)}"
    if own.share >= ACCEPTED:
        return
    enough = {rule: each for rule, each in found.items() if each.share >= ACCEPTED and rule != BARE}
    if enough:
        rule = min(enough, key=lambda each: enough[each].relative)
        yield f"  {ACCEPTED:.0%} would take `{rule}`{_price(enough[rule])}"
    else:
        yield f"  {ACCEPTED:.0%} is reached by none of them: models of these data differ; more rows make them alike"


def _share(lasting: Lasted) -> str:
    return whole_percent(lasting.share)


def _price(lasting: Lasted) -> str:
    """What a rule costs beside the spec's own."""
    without = f", and {lasting.without:.0%} of the people have none" if lasting.without else ""
    return f", at {lasting.relative:.2f} times the cost{without}"


def _serves_nobody(manifest: Manifest) -> bool:
    """Whether no rejected person of the data has an option, or none in a round."""
    return 1.0 in (manifest.metrics.get("without_option"), manifest.metrics.get("without_option_in_round"))


def _what_to_do(manifest: Manifest, spec: ProgramSpec) -> list[str]:
    """Advice to the owners of a model's program, where the share of people without an option is high."""
    metrics, margin = manifest.metrics, margin_of(spec, manifest.margin)
    none = max(metrics["without_option"], metrics.get("without_option_in_round", 0.0))
    broken = {name.removeprefix(BROKEN): int(rows) for name, rows in metrics.items() if name.startswith(BROKEN)}
    general = advice(spec, margin, none, metrics.get("many_changes", 0.0), metrics.get(BREAKING, 0.0))
    return [*broken_in_data(broken), *general]

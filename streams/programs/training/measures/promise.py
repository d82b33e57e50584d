"""What the promise guarantees on average, and whether a plain margin is as good."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from msgspec import UNSET

from .....agents.promises import whole_percent
from .....schemas.spec import ProgramSpec
from ...bundle.manifest import Manifest
from ...bundle.measured import EqualMargin, Promised
from ...promised import promise_on
from ..sample import RejectedSample
from ..trained import Trained

EQUAL_COST = 0.02
"""The share by which mean costs may differ and count as equal."""


def measure(trained: Trained) -> Promised | None:
    """What the promise guarantees on average; None where it says no number."""
    means = {} if trained.sample is None else _means(trained.sample)
    equal = trained.share.equal_margin
    return Promised(means, equal) if means or equal else None


def _means(sample: RejectedSample) -> dict[str, float]:
    """The means of what a sample's options are guaranteed, and the promise's constants, also where there are none."""
    score, threshold = sample.program.score, sample.program.threshold
    kept = [sample.promise.guarantee(target, score, threshold) or {} for target in sample.targets]
    names = dict.fromkeys(name for guarantee in kept for name in guarantee)
    means = {name: float(np.mean([values[name] for values in kept if name in values])) for name in names}
    return means | dict(sample.promise.constants())


def in_words(manifest: Manifest, spec: ProgramSpec) -> Iterator[str]:
    """The measurements of the promise."""
    measured = manifest.measured.promise or Promised()
    for line in promise_on(spec.promise).measured_in_words(measured.means):
        yield f"promise: {line}"
    if measured.equal_margin is not None and manifest.promise_calibration is not UNSET:
        yield equal_margin_in_words(measured.equal_margin, manifest.promise_calibration.models)


def equal_margin_in_words(equal: EqualMargin, models: int) -> str:
    """The cost of a plain margin that is as valid, and which of the two is cheaper."""
    line = (
        f"a plain `policy.margin: {equal.margin:.2g}` makes as many of these models accept the cheapest options "
        f"({whole_percent(equal.accepted)}; {models} were asked), at a mean cost of {equal.cost:.3g} beside "
        f"{equal.promised_cost:.3g}"
    )
    if equal.cost < (1.0 - EQUAL_COST) * equal.promised_cost:
        return f"{line}: it is cheaper; take it where no certificate of single options is needed"
    if equal.promised_cost < (1.0 - EQUAL_COST) * equal.cost:
        return f"{line}: the promise is cheaper"
    return f"{line}: neither is cheaper"

"""The measured margin, and whether it is what was wanted."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import UNSET

from .....agents.promises import whole_percent
from .....schemas.spec import ProgramSpec
from ....advice import ACCEPTED, LASTING
from ...bundle.manifest import Manifest
from ...bundle.measured import Margin
from ..trained import Trained


def measure(trained: Trained) -> Margin | None:
    """How many options retrained models accept with the margin; None where it was not measured."""
    share = trained.margin.accepted
    return None if share is None else Margin(share)


def in_words(manifest: Manifest, spec: ProgramSpec) -> Iterator[str]:
    """The margin, and whether it is what was wanted."""
    if manifest.margin is UNSET:
        return
    measured, line = manifest.measured.margin, f"margin: {manifest.margin:g} above the threshold"
    if spec.policy.objective != "cost":
        yield line
    elif measured is None:
        yield f"{line}: it could not be measured, because no rejected person has an option even at the bare threshold"
    elif measured.accepted < ACCEPTED:
        last = LASTING[0].upper() + LASTING[1:]
        yield (
            f"{line}: models trained on other rows of the data accept {whole_percent(measured.accepted)} of the "
            f"options; the wanted {ACCEPTED:.0%} is reached by no margin that leaves nine of ten people an option of "
            f"few changes. {last}"
        )
    else:
        yield line

"""The prior that a spec names by a path, read: what a spec means holds the prior itself, wherever its file lies."""

from __future__ import annotations

from pathlib import Path

import msgspec
from msgspec.structs import replace

from .json_problems import explain_malformed
from .problems import JSON_ERRORS
from .spec import ProgramSpec, WeightPrior

MAX_PRIOR_BYTES = 128 * 1024
"""Of the file: with the prior in it, a spec must fit into a record."""


class PriorFileError(Exception):
    """A prior cannot be read; the text says why in one line."""


def with_prior(spec: ProgramSpec, folder: Path) -> ProgramSpec:
    """The spec with the prior that its path, relative to ``folder``, names; raise ``PriorFileError`` without one."""
    elicitation = spec.elicitation
    if elicitation is None or not isinstance(elicitation.prior, str):
        return spec
    prior = _read(folder / elicitation.prior)
    return replace(spec, elicitation=replace(elicitation, prior=prior))


def without_prior(spec: ProgramSpec) -> ProgramSpec:
    """The spec as if it named none, nor the influences that need it: what else is wrong with it can be told."""
    assert spec.elicitation is not None, "only a spec that asks names a prior"
    return replace(spec, elicitation=replace(spec.elicitation, prior=None, influences=()))


def _read(file: Path) -> WeightPrior:
    try:
        with file.open("rb") as stream:
            data = stream.read(MAX_PRIOR_BYTES + 1)
    except OSError as error:
        raise PriorFileError(f"{file} cannot be read: {error.strerror}") from None
    except ValueError:
        raise PriorFileError(f"{str(file)!r} is no path") from None
    if len(data) > MAX_PRIOR_BYTES:
        raise PriorFileError(f"{file} has more than {MAX_PRIOR_BYTES} bytes")
    try:
        return msgspec.json.decode(data, type=WeightPrior)
    except msgspec.ValidationError as error:
        raise PriorFileError(f"{file}: {error}") from None
    except JSON_ERRORS as error:
        raise PriorFileError(f"{file}: {explain_malformed(data, error)}") from None

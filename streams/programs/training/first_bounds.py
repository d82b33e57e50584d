"""The bounds under which a program's later models are trained: those that its first model was trained with."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import msgspec

from ....schemas.specfile import LoadedSpec
from ...errors import ModelError
from ..assembly import address_of
from ..bundle.loader import read_manifest
from ..encoding import codec_of


def in_first_bounds(loaded: LoadedSpec, tell: Callable[[str], None]) -> LoadedSpec:
    """The spec with the bounds of the program's first model where its own are narrower.

    Workers encode every value by these, so a model that was trained with others could not be announced. Rows of the
    data between them count. The spec is the same where the model that it names is not there yet, or another program's.
    """
    spec = loaded.spec
    try:
        manifest, _ = read_manifest(address_of(loaded), redirects=True)
    except ModelError:
        return loaded
    if manifest.program != spec.program:
        return loaded
    features = codec_of(spec, manifest).features
    for feature, of_spec in zip(features, spec.features, strict=True):
        if feature.bounds is not None and feature.bounds != of_spec.bounds:
            low, high = feature.bounds
            tell(f"{feature.name} is scaled from {low:g} to {high:g}, as the program's first model was trained with")
    return replace(loaded, spec=msgspec.structs.replace(spec, features=features))

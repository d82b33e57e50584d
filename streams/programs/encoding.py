"""How a program's features are encoded: by the bounds that its first model was trained with."""

from __future__ import annotations

from msgspec import UnsetType

from ...schemas.encoding import FeatureCodec
from ...schemas.spec import ProgramSpec
from .bundle.manifest import Manifest
from .spec_changes import Bounds


def codec_of(spec: ProgramSpec, manifest: Manifest) -> FeatureCodec:
    """The codec of a program whose first model has this manifest.

    Where the spec's bounds are narrower than those that the model was trained with, the model's encode the features.
    """
    wider = bounds_of(manifest)
    bounds = {feature.name: feature.bounds for feature in spec.features if feature.bounds is not None}
    return FeatureCodec(
        spec, {name: wider[name] for name in bounds.keys() & wider.keys() if _is_within(bounds[name], wider[name])}
    )


def bounds_of(manifest: Manifest) -> Bounds:
    """The bounds that a model was trained with, by the names of features, as far as its manifest says them."""
    return {column.name: column.bounds for column in manifest.features if not isinstance(column.bounds, UnsetType)}


def _is_within(bounds: tuple[float, float], wider: tuple[float, float]) -> bool:
    return wider[0] <= bounds[0] and bounds[1] <= wider[1]

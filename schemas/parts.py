"""The parts of a spec that are well-formed, so that what they mean can be checked although other parts are not.

A feature, a pair, a rule, a window, the label, the model: each is left out as a whole when anything in it does not fit.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import msgspec

from .spec import Feature, Policy, ProgramSpec
from .speccheck import Fault
from .yamltree import Path

FEATURES = ("features",)
POLICY = ("policy",)
SECTIONS: Collection[Path] = ((), ("constraints",), POLICY)
"""Mappings whose entries are parts of their own."""
LISTS: Collection[Path] = (FEATURES, ("constraints", "le"), ("constraints", "rules"))
"""Lists whose items are parts of their own."""
JUDGED_ALONE = frozenset(Policy.__struct_fields__) - {"choice"}
STAND_INS: Mapping[str, Any] = {
    "program": "stand-in",
    "features": [{"name": "stand-in", "type": "continuous"}],
    "label": {"name": "stand-in"},
    "model": {"manifest": "stand-in"},
}


@dataclass(frozen=True)
class Parts:
    """``spec`` holds what is well-formed, and stand-ins for the sections of it that are not.

    ``others`` are the names of the features that were left out, None when they are not all known.
    """

    spec: ProgramSpec
    others: Collection[str] | None
    _kept: Mapping[Path, Sequence[int]]
    _absent: Collection[Path]

    def placed(self, faults: Iterable[Fault]) -> Iterator[Fault]:
        """Faults of ``spec`` with their paths in the document; none of a stand-in."""
        for path, message in faults:
            if path[:1] not in self._absent:
                yield self._placed(path), message

    def _placed(self, path: Path) -> Path:
        return tuple(
            self._kept[path[:depth]][step] if isinstance(step, int) and path[:depth] in self._kept else step
            for depth, step in enumerate(path)
        )


def well_formed(document: Mapping[str, Any], bad: Iterable[Path]) -> Parts:
    """The parts of a document without misfits; ``bad`` are the places of its misfits."""
    broken = {path[:end] for path in bad for end in range(1, len(path) + 1)}
    kept: dict[Path, Sequence[int]] = {}
    sound = _sound(document, (), broken, kept)
    features = msgspec.convert(sound.pop("features", []), tuple[Feature, ...])
    spec = msgspec.convert({**STAND_INS, **sound}, ProgramSpec)
    return Parts(
        msgspec.structs.replace(spec, features=features),
        _others(document.get("features"), kept.get(FEATURES, ())),
        kept,
        {(name,) for name in STAND_INS.keys() - sound.keys()} - {FEATURES},
    )


def _sound(value: Any, path: Path, broken: Collection[Path], kept: dict[Path, Sequence[int]]) -> Any:
    """A section or a list of parts without what is broken in it; ``kept`` takes the places of the items that stay."""
    if isinstance(value, list):
        kept[path] = [index for index in range(len(value)) if (*path, index) not in broken]
        return [value[index] for index in kept[path]]
    own = {name: item for name, item in value.items() if (*path, name) not in broken}
    if path == POLICY and value.keys() - own.keys() - JUDGED_ALONE:
        # Without the choice (its key may be a misspelt one) nothing can be said of parameters.
        own = {name: own[name] for name in own.keys() & JUDGED_ALONE - {"parameters"}}
    for name, item in value.items():
        below = (*path, name)
        if (below in SECTIONS and isinstance(item, dict)) or (below in LISTS and isinstance(item, list)):
            own[name] = _sound(item, below, broken, kept)
    return own


def _others(features: Any, kept: Collection[int]) -> Collection[str] | None:
    """The names of the features that are not kept, None when one has none."""
    if not isinstance(features, list) or not features:
        return None
    kept = frozenset(kept)
    names = set()
    for index, feature in enumerate(features):
        if index not in kept:
            name = feature.get("name") if isinstance(feature, dict) else None
            if not isinstance(name, str):
                return None
            names.add(name)
    return names

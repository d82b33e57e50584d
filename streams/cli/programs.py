"""Writes a world's programs as folders that ``onward worker --spec FOLDER/spec.yaml`` can serve.

write_programs("credit", world, Path("programs"), ["protoar", "linucb"])

programs/credit-linucb/spec.yaml
programs/credit-linucb/model/manifest.json ...
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import timedelta
from io import StringIO
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
from ruamel.yaml import YAML
from ruamel.yaml.comments import CommentedMap, CommentedSeq

from ...agents.choices import TAP
from ...environments.improvement import ImprovementWorld
from ...schemas.spec import ProgramSpec
from ..errors import UsageError
from ..programs.bundle import write_bundle
from ..programs.verifier_training import FittedVerifier, fit_verifier

SPEC_FILE = "spec.yaml"
MODEL_FOLDER = "model"
NAME_CHARACTERS = 63
VERIFIER_SEED = 0
REFERENCE_PEOPLE = 500
TOLD = {"policy", "choice", "cost", "window", "steps", "decisions"}
"""Fields that are written even where they are as by default, because people look for them."""


def write_programs(name: str, world: ImprovementWorld, folder: Path, policies: Sequence[str]) -> Mapping[str, Path]:
    """Write one program folder a policy and return the spec files by program, in the order of the policies.

    Raises ``UsageError`` when a folder exists already or cannot be written.
    """
    specs: dict[str, Path] = {}
    for policy in policies:
        spec = world.spec(program_name(name, policy), policy)
        home = folder / spec.program
        verifier = _verifier(world) if policy == TAP.name else None
        write_bundle(
            home / MODEL_FOLDER,
            spec,
            world.columns,
            version="world-1",
            estimator=world.estimator,
            instances=world.instances,
            reference=[world.application(t)[1] for t in range(min(world.people, REFERENCE_PEOPLE))],
            metrics={},
            verifier=verifier,
        )
        specs[spec.program] = _write(home / SPEC_FILE, spec_yaml(spec))
    return specs


def _verifier(world: ImprovementWorld) -> FittedVerifier:
    if world.training is None:
        raise UsageError("tap needs the rows that the world's model was trained on, which this world does not hold")
    return fit_verifier(world.estimator, *world.training, np.random.RandomState(VERIFIER_SEED))


def program_name(name: str, policy: str) -> str:
    """The program that serves the world of this name with a policy: ``credit-linucb``."""
    return f"{name[: NAME_CHARACTERS - 1 - len(policy)]}-{policy}"


def spec_yaml(spec: ProgramSpec) -> str:
    """A spec as the YAML that a person would write: without most of what is default anyway, one line a feature."""
    tree = _plain(spec)
    for name, value in tree.items():
        for flat in value if name == "features" else [value]:
            if isinstance(flat, CommentedMap):
                flat.fa.set_flow_style()
    yaml = YAML()
    yaml.width = 120
    yaml.indent(mapping=2, sequence=4, offset=2)
    text = StringIO()
    yaml.dump(tree, text)
    return text.getvalue()


def _plain(value: Any) -> Any:
    if isinstance(value, msgspec.Struct):
        fields = msgspec.structs.fields(value)
        pairs = ((field, getattr(value, field.name)) for field in fields)
        return CommentedMap(
            (field.encode_name, _plain(own)) for field, own in pairs if own != _default(field) or field.name in TOLD
        )
    if isinstance(value, Mapping):
        return CommentedMap((key, _plain(own)) for key, own in value.items())
    if isinstance(value, tuple):
        return CommentedSeq(map(_plain, value))
    if isinstance(value, timedelta):
        return msgspec.to_builtins(value)
    return int(value) if isinstance(value, float) and value.is_integer() else value


def _default(field: msgspec.structs.FieldInfo) -> Any:
    if field.default is not msgspec.NODEFAULT:
        return field.default
    return field.default_factory() if field.default_factory is not msgspec.NODEFAULT else msgspec.NODEFAULT


def _write(path: Path, text: str) -> Path:
    try:
        with path.open("x", encoding="utf-8") as stream:
            stream.write(text)
    except OSError as error:
        raise UsageError(f"{path}: cannot be written: {error.strerror}") from None
    return path

"""Writes a world's programs as folders that ``onward worker --spec FOLDER/spec.yaml`` can serve.

write_programs("credit", world, Path("programs"), ["protoar", "linucb"])

programs/credit-linucb/spec.yaml
programs/credit-linucb/model/manifest.json ...
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from ....environments.improvement import ImprovementWorld
from ...errors import UsageError
from ...programs.artefacts import fit_artefacts, needed_artefacts
from ...programs.bundle_writer import write_bundle
from ...programs.verifier_training import FittedVerifier
from .spec_yaml import spec_yaml

SPEC_FILE = "spec.yaml"
MODEL_FOLDER = "model"
MAX_NAME_CHARACTERS = 63
ARTEFACT_SEED = 0
REFERENCE_PEOPLE = 500


def write_programs(name: str, world: ImprovementWorld, folder: Path, policies: Sequence[str]) -> Mapping[str, Path]:
    """Write one program folder for each policy and return the spec files by program, in the order of the policies.

    Raises ``UsageError`` when a folder exists already or cannot be written.
    """
    specs: dict[str, Path] = {}
    reference = [world.application(t)[1] for t in range(min(world.people, REFERENCE_PEOPLE))]
    for policy in policies:
        spec = world.spec(program_name(name, policy), policy)
        program_folder = folder / spec.program
        write_bundle(
            program_folder / MODEL_FOLDER,
            spec,
            world.columns,
            version="world-1",
            estimator=world.estimator,
            instances=world.instances,
            reference=reference,
            metrics={},
            verifier=_artefacts(world, policy).get("verifier"),
        )
        specs[spec.program] = _write(program_folder / SPEC_FILE, spec_yaml(spec))
    return specs


def program_name(name: str, policy: str) -> str:
    """The program that serves the world of this name with a policy: ``credit-linucb``."""
    return f"{name[: MAX_NAME_CHARACTERS - 1 - len(policy)]}-{policy}"


def _artefacts(world: ImprovementWorld, policy: str) -> Mapping[str, FittedVerifier]:
    if not needed_artefacts(policy):
        return {}
    if world.training is None:
        message = f"{policy} needs the rows that the world's model was trained on, which this world does not hold"
        raise UsageError(message)
    return fit_artefacts(policy, world.estimator, *world.training, np.random.RandomState(ARTEFACT_SEED))


def _write(path: Path, text: str) -> Path:
    try:
        with path.open("x", encoding="utf-8") as stream:
            stream.write(text)
    except OSError as error:
        raise UsageError(f"{path}: cannot be written: {error.strerror}") from None
    return path

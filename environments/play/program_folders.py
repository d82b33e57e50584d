"""Writes a world's programs as folders that ``onward worker --spec FOLDER/spec.yaml`` can serve.

write_programs("credit", world, Path("programs"), {"protoar": {}, "linucb": {}})

programs/credit-linucb/spec.yaml
programs/credit-linucb/model/manifest.json ...
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import timedelta
from io import StringIO
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
from msgspec import UNSET, UnsetType
from ruamel.yaml import YAML
from ruamel.yaml.comments import CommentedMap, CommentedSeq

from ...agents.goals import accepted
from ...schemas.encoding import FeatureCodec
from ...schemas.spec import ProgramSpec
from ...schemas.words.form import LanguageWords
from ...streams.errors import UsageError, writing
from ...streams.programs.assembly import assemble
from ...streams.programs.bundle.improvement import FittedImprovement
from ...streams.programs.bundle.writer import write_bundle
from ...streams.programs.effects import Fitted
from ...streams.programs.margin import uses_margin
from ...streams.programs.models.scoring import scorer
from ...streams.programs.spec_check import load_program_spec
from ...streams.programs.training.effects import fit_effects
from ...streams.programs.training.improvement import fit_improvement, measured_improvement
from ...streams.programs.training.margin import retrained, smallest_margin
from ...streams.programs.training.unsaved_program import unsaved_program
from ..improvement import ImprovementWorld
from ..truth import TruthWorld

SPEC_FILE = "spec.yaml"
MODEL_FOLDER = "model"
WORDS_FOLDER = "words"
MAX_NAME_CHARACTERS = 63
ARTEFACT_SEED = 0
REFERENCE_PEOPLE = 500

Choices = Mapping[str, Mapping[str, float]]
"""Parameters by the name of the choice."""
People = ImprovementWorld | TruthWorld


def write_programs(name: str, world: People, folder: Path, choices: Choices) -> Mapping[str, Path]:
    """Write one program folder for each choice and return the spec files by program, in the order of the choices.

    Raises ``UsageError`` when a folder exists already or cannot be written.
    """
    reference = [world.application(t)[1] for t in range(min(world.people, REFERENCE_PEOPLE))]
    trained: dict[str, tuple[FittedImprovement | None, float | UnsetType]] = {}
    specs: dict[str, Path] = {}
    for choice, parameters in choices.items():
        spec = world.spec(program_name(name, choice), choice, parameters)
        if spec.policy.objective not in trained:
            prior = _improvement(world, spec)
            trained[spec.policy.objective] = prior, _margin(world, spec, reference, prior)
        improvement, margin = trained[spec.policy.objective]
        program_folder = folder / spec.program
        write_bundle(
            program_folder / MODEL_FOLDER,
            spec,
            world.columns,
            version="world-1",
            estimator=world.estimator,
            instances=world.instances,
            reference=reference,
            margin=margin,
            improvement=improvement,
            effects=_effects(world, spec),
        )
        specs[spec.program] = write_spec(program_folder / SPEC_FILE, spec)
    return specs


def offer_options(world: TruthWorld, specs: Iterable[Path]) -> None:
    """Tell a world what the programs of spec files can suggest to its people; the oracle takes the best of it.

    The programs differ in their objective and choice, as those of ``write_programs``.
    """
    programs = {loaded.spec.policy.objective: loaded for loaded in map(load_program_spec, specs)}
    for program in map(assemble, programs.values()):
        proposals = program.vetting_under(program.bundle).propose(world.distinct)
        world.offer(proposals.people, proposals.points[proposals.point])


def program_name(name: str, policy: str) -> str:
    """The program that serves the world of this name with a policy: ``credit-linucb``."""
    return f"{name[: MAX_NAME_CHARACTERS - 1 - len(policy)]}-{policy}"


def _improvement(world: People, spec: ProgramSpec) -> FittedImprovement | None:
    """The estimate of whether changes help, as training would fit it; None where the program does not ask."""
    if world.training is None or world.unseen is None:
        return None
    return measured_improvement(fit_improvement(spec, *world.training, ARTEFACT_SEED), *world.unseen)


def _effects(world: People, spec: ProgramSpec) -> Fitted:
    """What follows from changes, as training would fit it; none in worlds without a table."""
    if not isinstance(world, TruthWorld):
        return UNSET
    return fit_effects(Path(spec.program), spec, world.table, world.training_rows).effects


def _margin(
    world: People, spec: ProgramSpec, reference: Sequence[Mapping[str, Any]], prior: FittedImprovement | None
) -> float | UnsetType:
    """The margin that training would measure for a program; none where its spec gives one or a target."""
    if not isinstance(world, TruthWorld) or not uses_margin(spec):
        return UNSET
    X, labels = world.unseen
    score = scorer(world.estimator, len(world.columns)).score
    rejected = X[~accepted(score(X), spec.model.threshold)]
    codec = FeatureCodec(spec)
    others = retrained(world.estimator, codec.readable(X), labels, np.random.RandomState(ARTEFACT_SEED))
    improvement = None if prior is None else prior.improvement
    unsaved = unsaved_program(codec, score, world.instances, reference, improvement)
    return smallest_margin(unsaved, others, rejected).margin


def write_spec(path: Path, spec: ProgramSpec) -> Path:
    """Write a spec to a new file, and its words beside it; ``UsageError`` when they cannot be written."""
    if isinstance(spec.words, dict):
        for tag, words in spec.words.items():
            _write(path.parent / WORDS_FOLDER / f"{tag}.yaml", words_yaml(words))
        spec = msgspec.structs.replace(spec, words=WORDS_FOLDER)
    return _write(path, spec_yaml(spec))


def new_folder(folder: Path) -> Path:
    """Make a folder; ``UsageError`` when it exists already or cannot be made."""
    with writing(folder):
        try:
            folder.mkdir(parents=True)
        except FileExistsError:
            raise UsageError(f"{folder}: exists already, name another folder") from None
    return folder


def _write(path: Path, text: str) -> Path:
    with writing(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("x", encoding="utf-8") as stream:
            stream.write(text)
    return path


ALWAYS_WRITTEN = {"policy", "choice", "cost", "window", "steps", "decisions"}
"""Fields that are written even where they have their default, because readers look for them."""


def spec_yaml(spec: ProgramSpec) -> str:
    """A spec as YAML, without most of the fields that have their default, and with one line a feature."""
    tree = _plain(spec)
    for name, value in tree.items():
        for flat in value if name == "features" else [value]:
            if isinstance(flat, CommentedMap):
                flat.fa.set_flow_style()
    return _dumped(tree)


def words_yaml(words: LanguageWords) -> str:
    """The words of a language as YAML."""
    return _dumped(_plain(words))


def _dumped(tree: Any) -> str:
    yaml = YAML()
    yaml.width = 120
    yaml.indent(mapping=2, sequence=4, offset=2)
    text = StringIO()
    yaml.dump(tree, text)
    return text.getvalue()


def _plain(value: Any) -> Any:
    if isinstance(value, msgspec.Struct):
        fields = ((field, getattr(value, field.name)) for field in msgspec.structs.fields(value))
        return CommentedMap(
            (field.encode_name, _plain(content))
            for field, content in fields
            if content != _default(field) or field.name in ALWAYS_WRITTEN
        )
    if isinstance(value, Mapping):
        return CommentedMap((key, _plain(content)) for key, content in value.items())
    if isinstance(value, tuple):
        return CommentedSeq(map(_plain, value))
    if isinstance(value, timedelta):
        return msgspec.to_builtins(value)
    return int(value) if isinstance(value, float) and value.is_integer() else value


def _default(field: msgspec.structs.FieldInfo) -> Any:
    if field.default is not msgspec.NODEFAULT:
        return field.default
    return field.default_factory() if field.default_factory is not msgspec.NODEFAULT else msgspec.NODEFAULT

"""Writes model bundles (``loader.py`` describes their files)."""

from __future__ import annotations

import hashlib
import importlib.metadata
import os
import shutil
import tempfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec
from msgspec import UNSET, UnsetType

from ....agents import candidates
from ....schemas.events import Value
from ....schemas.spec import ProgramSpec
from ...errors import ModelError, UsageError, one_line
from ..models.scoring import DecisionModel
from .baseline import baseline_of
from .improvement import FittedImprovement, dump_improvement
from .manifest import MANIFEST, BundleFile, FeatureColumn, FittedEffect, ImprovementFile, Manifest, PromiseCalibration
from .measured import Measured
from .model_files import ModelFile, model_file
from .population import population_of
from .raw_rows import write_rows
from .retrains import dump_retrains

Rows = Sequence[Mapping[str, Value]]

OF_PEOPLE, OF_NOBODY = 0o640, 0o666
"""The permissions of files with rows of people, and of all others; the umask takes some away."""
LIBRARIES = {
    ".skops": ("scikit-learn", "skops"),
    ".npz": ("numpy", "scikit-learn"),
    ".onnx": ("onnx", "onnxruntime"),
}
"""The libraries whose versions a manifest tells, by the ending of the model's file."""


def write_bundle(
    folder: Path,
    spec: ProgramSpec,
    columns: tuple[str, ...],
    *,
    version: str,
    estimator: Any,
    instances: Rows,
    reference: Rows,
    measured: Measured | None = None,
    margin: float | UnsetType = UNSET,
    retrains: Sequence[DecisionModel] = (),
    promise_calibration: PromiseCalibration | UnsetType = UNSET,
    goal_policy: bytes | None = None,
    effects: tuple[FittedEffect, ...] | UnsetType = UNSET,
    improvement: FittedImprovement | None = None,
    approved: Rows = (),
) -> Manifest:
    """Write a bundle to a folder that does not exist yet (or is empty); it appears whole or not at all.

    ``columns`` are the encoded columns of the program, and ``estimator`` is a fitted estimator or an imported model
    (``model_files.py``). ``instances`` are raw rows that the model accepts, kept where the spec's generator uses them,
    and ``reference`` raw rows of the population, of which quantiles are kept. ``retrains`` are models of resamples of
    its data, ``goal_policy`` is the content of a file that ``goal_policy.py`` loads, ``improvement`` says whether
    changes help, and ``effects`` what follows from them. ``approved`` are raw rows that the model approves: the
    baseline of reasons is kept. Raises ``UsageError`` when the folder cannot be written, ``ModelError`` when a model
    could not be loaded again.
    """
    types, features = (
        {feature.name: feature.type for feature in spec.features},
        tuple(map(FeatureColumn.from_feature, spec.features)),
    )
    model, again = _model_files(folder, estimator, len(columns), retrains)
    contents: dict[str, bytes] = {}

    def kept(name: str, content: bytes) -> BundleFile:
        contents[name] = content
        return BundleFile(name, len(content), hashlib.sha256(content).hexdigest())

    # Both come from real people. A generator that does not look at instances is given none.
    rows = instances if candidates.registry[spec.policy.generator].uses_instances else ()
    manifest = Manifest(
        program=spec.program,
        version=version,
        estimator=model.estimator,
        columns=columns,
        features=features,
        model=kept(f"model{model.ending}", model.content),
        instances=kept("instances.csv", write_rows(rows, types)),
        population=kept("population.json", msgspec.json.encode(population_of(reference, types))),
        retrains=UNSET if again is None else kept("retrains.npz", again),
        promise_calibration=promise_calibration,
        goal_policy=UNSET if goal_policy is None else kept("goal.npz", goal_policy),
        improvement=UNSET if improvement is None else _improvement_file(improvement, kept),
        effects=effects,
        onnx=model.onnx,
        baseline=baseline_of(approved, features) or UNSET,
        margin=margin,
        measured=measured or Measured(),
        libraries={name: importlib.metadata.version(name) for name in LIBRARIES[model.ending]},
    )
    _write_folder(folder, contents, manifest)
    return manifest


def _model_files(
    folder: Path, estimator: Any, columns: int, retrains: Sequence[DecisionModel]
) -> tuple[ModelFile, bytes | None]:
    """The file of a model, and that of its retrains, where it has some."""
    try:
        return model_file(estimator, columns), dump_retrains(retrains) if retrains else None
    except ValueError as error:
        raise ModelError(f"{folder}: {error}") from None


def _improvement_file(fitted: FittedImprovement, kept: Callable[[str, bytes], BundleFile]) -> ImprovementFile:
    """What says whether changes help, as the manifest names it."""
    file = kept("improvement.npz", dump_improvement(fitted.improvement))
    return ImprovementFile(file.file, file.size, file.sha256, fitted.improvement.name, fitted.calibration)


def copy_for_program(source: Path, folder: Path, program: str) -> None:
    """Copy a bundle for another program of the same features."""
    manifest = msgspec.json.decode((source / MANIFEST).read_bytes(), type=Manifest)
    contents = {path.name: path.read_bytes() for path in source.iterdir() if path.name != MANIFEST}
    _write_folder(folder, contents, msgspec.structs.replace(manifest, program=program))


def check_new(folder: Path) -> None:
    """Raise ``UsageError`` where a bundle cannot be written, before anything is computed for it."""
    try:
        if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
            raise _occupied(folder)
    except OSError as error:
        raise _cannot_write(folder, error) from None


def _occupied(folder: Path) -> UsageError:
    return UsageError(f"{folder}: already holds something; a bundle is never overwritten, name another")


def _write_folder(folder: Path, contents: Mapping[str, bytes], manifest: Manifest) -> None:
    """Write a temporary folder, then rename it: renaming onto a folder that is not empty fails."""
    description = msgspec.json.format(msgspec.json.encode(manifest)) + b"\n"
    rows = manifest.instances.file
    # The first line names the columns. A file without rows is read by workers of any user.
    private = {rows} if contents[rows].count(b"\n") > 1 else frozenset[str]()
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        temporary = Path(tempfile.mkdtemp(prefix=f".{folder.name}-", dir=folder.parent))
    except OSError as error:
        raise _cannot_write(folder, error) from None
    try:
        for name, content in {**contents, MANIFEST: description}.items():
            _write_file(temporary / name, content, OF_PEOPLE if name in private else OF_NOBODY)
        temporary.chmod(0o755)
        temporary.rename(folder)
    except OSError as error:
        shutil.rmtree(temporary, ignore_errors=True)
        if folder.exists():
            raise _occupied(folder) from None
        raise _cannot_write(folder, error) from None


def _write_file(path: Path, content: bytes, mode: int) -> None:
    with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode), "wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())


def _cannot_write(folder: Path, error: OSError) -> UsageError:
    return UsageError(f"{folder}: cannot be written: {one_line(error)}")

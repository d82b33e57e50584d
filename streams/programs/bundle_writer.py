"""Writes model bundles (``bundle.py`` describes their files)."""

from __future__ import annotations

import hashlib
import os
import shutil
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any
from zipfile import ZIP_DEFLATED

import msgspec
import sklearn
import skops
import skops.io
from msgspec import UNSET, UnsetType

from ...schemas.events import Value
from ...schemas.spec import ProgramSpec
from ..errors import ModelError, UsageError
from .manifest import MANIFEST, BundleFile, FeatureColumn, Manifest, VerifierFile
from .raw_rows import write_rows
from .scoring import scorer, type_name
from .verifier_training import FittedVerifier

Rows = Sequence[Mapping[str, Value]]


def write_bundle(
    folder: Path,
    spec: ProgramSpec,
    columns: tuple[str, ...],
    *,
    version: str,
    estimator: Any,
    instances: Rows,
    reference: Rows,
    metrics: Mapping[str, float],
    verifier: FittedVerifier | None = None,
    margin: float | UnsetType = UNSET,
) -> Manifest:
    """Write a bundle to a folder that does not exist yet (or is empty); it appears whole or not at all.

    ``columns`` are the encoded columns of the program. Raises ``UsageError`` when the folder is not empty or cannot
    be written, ``ModelError`` when the estimator could not be loaded again.
    """
    _check_loadable(folder, estimator, verifier, len(columns))
    types = {feature.name: feature.type for feature in spec.features}
    contents = {
        "model.skops": _dumps(estimator),
        "instances.csv": write_rows(instances, types),
        "reference.csv": write_rows(reference, types),
    }
    if verifier is not None:
        contents["verifier.skops"] = _dumps(verifier.estimator)
    entries = {name: _entry(name, content) for name, content in contents.items()}
    manifest = Manifest(
        program=spec.program,
        version=version,
        estimator=type_name(estimator),
        columns=columns,
        features=tuple(FeatureColumn(name, kind) for name, kind in types.items()),
        model=entries["model.skops"],
        instances=entries["instances.csv"],
        reference=entries["reference.csv"],
        verifier=UNSET if verifier is None else _verifier_entry(entries["verifier.skops"], verifier.tolerance),
        margin=margin,
        metrics=dict(metrics),
        libraries={"scikit-learn": sklearn.__version__, "skops": skops.__version__},
    )
    _write_folder(folder, {**contents, MANIFEST: msgspec.json.format(msgspec.json.encode(manifest)) + b"\n"})
    return manifest


def _check_loadable(folder: Path, estimator: Any, verifier: FittedVerifier | None, columns: int) -> None:
    try:
        scorer(estimator, columns)
        if verifier is not None:
            scorer(verifier.estimator, 2 * columns)
    except ValueError as error:
        raise ModelError(f"{folder}: {error}") from None


def _dumps(estimator: Any) -> bytes:
    content: bytes = skops.io.dumps(estimator, compression=ZIP_DEFLATED)
    return content


def _entry(name: str, content: bytes) -> BundleFile:
    return BundleFile(name, len(content), hashlib.sha256(content).hexdigest())


def _verifier_entry(entry: BundleFile, tolerance: float) -> VerifierFile:
    return VerifierFile(entry.file, entry.size, entry.sha256, tolerance)


def _write_folder(folder: Path, contents: Mapping[str, bytes]) -> None:
    """Write a temporary folder, then rename it: renaming onto a folder that is not empty fails."""
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        temporary = Path(tempfile.mkdtemp(prefix=f".{folder.name}-", dir=folder.parent))
    except OSError as error:
        raise _cannot_write(folder, error) from None
    try:
        for name, content in contents.items():
            _write_file(temporary / name, content)
        temporary.chmod(0o755)
        temporary.rename(folder)
    except OSError as error:
        shutil.rmtree(temporary, ignore_errors=True)
        if folder.exists():
            message = f"{folder}: already holds something; a bundle is never overwritten, name another"
            raise UsageError(message) from None
        raise _cannot_write(folder, error) from None


def _write_file(path: Path, content: bytes) -> None:
    with path.open("wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())


def _cannot_write(folder: Path, error: OSError) -> UsageError:
    return UsageError(f"{folder}: cannot be written: {' '.join(str(error).split()) or type(error).__name__}")

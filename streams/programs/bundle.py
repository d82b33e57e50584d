"""Model bundles: what `onward train` writes and a worker loads.

A bundle is a folder (any fsspec address) that is never written to again:

    manifest.json    what the bundle is: the sha256 and size of every other file
    model.skops      the fitted estimator
    instances.csv    raw rows that the model accepts: the recourse instances; their order is the candidate index
    reference.csv    raw rows of the population, for costs that count in percentiles
    verifier.skops   where the policy asks for one: a classifier of pairs, fitted as ``verifying`` says

A model file must not run code: it is read by skops, never by pickle, and only types on a short list are accepted.
"""

from __future__ import annotations

import hashlib
import io
import os
import re
import shutil
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple
from zipfile import ZIP_DEFLATED, ZipFile

import fsspec
import msgspec
import sklearn
import skops
import skops.io
from msgspec import UNSET, Meta, Struct, UnsetType

from ...agents.choices.components.verifier import Verifier
from ...schemas.events import Identifier, ProgramName, Value
from ...schemas.problems import JSON_ERRORS
from ...schemas.spec import FeatureType, Name, ProgramSpec
from ..errors import ModelError, UsageError
from .raw_rows import read_rows, write_rows
from .scoring import DecisionModel, scorer, type_name
from .verifier_training import FittedVerifier

MANIFEST = "manifest.json"
TRUSTED_TYPES = (
    "sklearn.neural_network._stochastic_optimizers.AdamOptimizer",
    "sklearn.neural_network._stochastic_optimizers.SGDOptimizer",
    "sklearn.tree._tree.Tree",
)
"""Types beyond skops' own list that a model may hold: what an ``MLPClassifier`` was fitted with (plain attributes),
and the arrays of a tree (``forests`` checks them)."""

LARGEST_MANIFEST_BYTES = 4 << 20
LARGEST_FILE_BYTES = 1 << 30
LARGEST_UNPACKED_BYTES = 4 << 30
"""Of a model's arrays, which the file holds compressed."""

_FILE_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")

Rows = Sequence[Mapping[str, Value]]


class Artefact(Struct, frozen=True, forbid_unknown_fields=True):
    """A file of the bundle. ``size`` is in bytes."""

    file: str
    size: Annotated[int, Meta(ge=0, le=LARGEST_FILE_BYTES)]
    sha256: str


class FeatureColumn(Struct, frozen=True, forbid_unknown_fields=True):
    """A raw column of the bundle's tables."""

    name: Name
    type: FeatureType


class VerifierArtefact(Artefact, frozen=True, forbid_unknown_fields=True):
    """The file of a verifier, and how far it may be from the model where it is to be trusted."""

    tolerance: Annotated[float, Meta(ge=0, le=1)]


class Manifest(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """What a bundle is. ``columns`` are the encoded columns the model was fitted on, in order."""

    format: Literal[1] = 1
    program: ProgramName
    version: Identifier
    estimator: str
    columns: tuple[str, ...]
    features: tuple[FeatureColumn, ...]
    model: Artefact
    instances: Artefact
    reference: Artefact
    verifier: VerifierArtefact | UnsetType = UNSET
    metrics: dict[str, float] = {}
    libraries: dict[str, str] = {}


@dataclass(frozen=True)
class ModelBundle:
    """A loaded bundle. ``manifest_sha256`` is of the manifest's bytes and so fixes every file."""

    version: str
    address: str
    manifest_sha256: str
    manifest: Manifest
    model: DecisionModel
    instances: list[dict[str, Value]]
    reference: list[dict[str, Value]]
    verifier: BundledVerifier | None = None

    def artefact(self, name: str) -> Any:
        """An artefact that a choice needs (``Choice.needs``), None where the bundle lacks it."""
        if name != "verifier" or self.verifier is None:
            return None
        return Verifier(self.verifier.model.score, self.model.score, self.verifier.tolerance)


class BundledVerifier(NamedTuple):
    """The verifier of a bundle: its model takes pairs of people (n, 2 D), one's columns, then the other's."""

    model: DecisionModel
    tolerance: float


def read_manifest(address: str, *, sha256: str | None = None) -> tuple[Manifest, str]:
    """The manifest at ``address``, a local path or any fsspec url, and the sha256 of its bytes.

    ``sha256`` is what that must be, None to accept any. Raises ``ModelError``.
    """
    return _manifest(_Files(address), sha256)


def load_bundle(address: str, *, sha256: str | None, columns: tuple[str, ...]) -> ModelBundle:
    """Load the bundle whose manifest is at ``address``, a local path or any fsspec url.

    ``sha256`` is the expected hash of the manifest, None to accept any; ``columns`` are the encoded columns of the
    program. Raises ``ModelError``, one line that names the file and what is wrong with it.
    """
    files = _Files(address)
    manifest, digest = _manifest(files, sha256)
    if manifest.columns != columns:
        raise ModelError(f"{address}: {_difference(manifest.columns, columns)}")
    return ModelBundle(
        version=manifest.version,
        address=address,
        manifest_sha256=digest,
        manifest=manifest,
        model=_load_model(files, manifest.model, len(columns)),
        instances=_load_rows(files, manifest.instances, manifest.features),
        reference=_load_rows(files, manifest.reference, manifest.features),
        verifier=_load_verifier(files, manifest.verifier, len(columns)),
    )


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
) -> Manifest:
    """Write a bundle to a folder that does not exist yet (or is empty); it appears whole or not at all.

    ``columns`` are the encoded columns of the program. Raises ``UsageError`` when the folder holds something or
    cannot be written, ``ModelError`` when the estimator could not be loaded again.
    """
    types = {feature.name: feature.type for feature in spec.features}
    try:
        scorer(estimator, len(columns))
        if verifier is not None:
            scorer(verifier.estimator, 2 * len(columns))
    except ValueError as error:
        raise ModelError(f"{folder}: {error}") from None
    contents = {
        "model.skops": skops.io.dumps(estimator, compression=ZIP_DEFLATED),
        "instances.csv": write_rows(instances, types),
        "reference.csv": write_rows(reference, types),
    }
    model, instance_rows, reference_rows = (_artefact(name, content) for name, content in contents.items())
    if verifier is not None:
        contents["verifier.skops"] = skops.io.dumps(verifier.estimator, compression=ZIP_DEFLATED)
    manifest = Manifest(
        program=spec.program,
        version=version,
        estimator=type_name(estimator),
        columns=columns,
        features=tuple(FeatureColumn(name, kind) for name, kind in types.items()),
        model=model,
        instances=instance_rows,
        reference=reference_rows,
        verifier=UNSET if verifier is None else _verifier_artefact(contents["verifier.skops"], verifier.tolerance),
        metrics=dict(metrics),
        libraries={"scikit-learn": sklearn.__version__, "skops": skops.__version__},
    )
    _write_folder(folder, {**contents, MANIFEST: msgspec.json.format(msgspec.json.encode(manifest)) + b"\n"})
    return manifest


class _Files:
    """The folder of a manifest, on whatever file system."""

    def __init__(self, address: str) -> None:
        self.address = address
        try:
            self._system, path = fsspec.core.url_to_fs(address)
        except (ImportError, OSError, ValueError) as error:
            raise ModelError(f"{address}: not an address that can be read: {_line(error)}") from None
        folder, _, self.manifest = path.rpartition("/")
        self._folder = f"{folder}/" if folder or path.startswith("/") else ""

    def read(self, name: str, limit: int) -> bytes:
        """The bytes of a file of the folder, at most ``limit``: an address may lead anywhere, to a device too."""
        path = self._folder + name
        try:
            is_file = self._system.info(path)["type"] == "file"
            content = self._beginning(path, limit + 1) if is_file else b""
        except FileNotFoundError:
            raise ModelError(f"{self.address}: file {name} is missing") from None
        except Exception as error:  # each file system raises errors of its own
            raise ModelError(f"{self.address}: file {name} cannot be read: {_line(error)}") from None
        if not is_file:
            raise ModelError(f"{self.address}: {name} is not a file")
        if len(content) > limit:
            raise ModelError(f"{self.address}: file {name} has more than {limit} bytes")
        return content

    def _beginning(self, path: str, size: int) -> bytes:
        with self._system.open(path, "rb") as file:
            return bytes(file.read(size))

    def read_checked(self, artefact: Artefact) -> bytes:
        """The bytes of a file that is what the manifest says."""
        name = artefact.file
        if not _FILE_NAME.fullmatch(name):
            raise ModelError(f"{self.address}: file name {name!r} leaves the bundle's folder")
        content = self.read(name, artefact.size)
        if len(content) != artefact.size:
            raise ModelError(f"{self.address}: file {name} has {len(content)} bytes, not {artefact.size}")
        digest = hashlib.sha256(content).hexdigest()
        if digest != artefact.sha256:
            raise ModelError(f"{self.address}: sha256 of file {name} is {digest}, not {artefact.sha256}")
        return content


def _manifest(files: _Files, sha256: str | None) -> tuple[Manifest, str]:
    content = files.read(files.manifest, LARGEST_MANIFEST_BYTES)
    digest = hashlib.sha256(content).hexdigest()
    if sha256 is not None and digest != sha256:
        raise ModelError(f"{files.address}: sha256 is {digest}, not the expected {sha256}")
    try:
        return msgspec.json.decode(content, type=Manifest), digest
    except JSON_ERRORS as error:
        raise ModelError(f"{files.address}: not a model manifest: {error}") from None


def _load_model(files: _Files, artefact: Artefact, columns: int) -> DecisionModel:
    content = files.read_checked(artefact)
    where = f"{files.address}: file {artefact.file}"
    try:
        with ZipFile(io.BytesIO(content)) as archive:
            unpacked = sum(entry.file_size for entry in archive.infolist())
        if unpacked > LARGEST_UNPACKED_BYTES:
            raise ValueError(f"it unpacks to {unpacked} bytes, the limit is {LARGEST_UNPACKED_BYTES}")
        unknown = sorted(set(skops.io.get_untrusted_types(data=content)).difference(TRUSTED_TYPES))
    except Exception as error:  # skops names no base error for what a broken file can do
        raise ModelError(f"{where} is not a skops model: {_line(error)}") from None
    if unknown:
        raise ModelError(f"{where} holds types that are not allowed: {', '.join(unknown)}")
    try:
        return scorer(skops.io.loads(content, trusted=list(TRUSTED_TYPES)), columns)
    except Exception as error:
        raise ModelError(f"{where} is refused: {_line(error)}") from None


def _load_verifier(files: _Files, artefact: VerifierArtefact | UnsetType, columns: int) -> BundledVerifier | None:
    if isinstance(artefact, UnsetType):
        return None
    return BundledVerifier(_load_model(files, artefact, 2 * columns), artefact.tolerance)


def _load_rows(files: _Files, artefact: Artefact, features: Sequence[FeatureColumn]) -> list[dict[str, Value]]:
    content = files.read_checked(artefact)
    try:
        return read_rows(content, {feature.name: feature.type for feature in features})
    except ValueError as error:
        raise ModelError(f"{files.address}: file {artefact.file}: {error}") from None


def _artefact(name: str, content: bytes) -> Artefact:
    return Artefact(name, len(content), hashlib.sha256(content).hexdigest())


def _verifier_artefact(content: bytes, tolerance: float) -> VerifierArtefact:
    plain = _artefact("verifier.skops", content)
    return VerifierArtefact(plain.file, plain.size, plain.sha256, tolerance)


def _write_folder(folder: Path, contents: Mapping[str, bytes]) -> None:
    """Write beside, then rename: a folder cannot be renamed over one that holds something."""
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        beside = Path(tempfile.mkdtemp(prefix=f".{folder.name}-", dir=folder.parent))
    except OSError as error:
        raise UsageError(f"{folder}: cannot be written: {_line(error)}") from None
    try:
        for name, content in contents.items():
            with (beside / name).open("wb") as file:
                file.write(content)
                file.flush()
                os.fsync(file.fileno())
        beside.chmod(0o755)
        beside.rename(folder)
    except OSError as error:
        shutil.rmtree(beside, ignore_errors=True)
        if folder.exists():
            raise UsageError(
                f"{folder}: already holds something; a bundle is never overwritten, name another"
            ) from None
        raise UsageError(f"{folder}: cannot be written: {_line(error)}") from None


def _difference(found: Sequence[str], expected: Sequence[str]) -> str:
    missing = [name for name in expected if name not in found]
    surplus = [name for name in found if name not in expected]
    if not missing and not surplus:
        return "the model's columns stand in another order than the spec's"
    parts = [f"{what} {', '.join(names)}" for what, names in (("lacks", missing), ("adds", surplus)) if names]
    return f"the model's columns are not those of the spec: it {' and '.join(parts)}"


def _line(error: BaseException) -> str:
    return " ".join(str(error).split()) or type(error).__name__

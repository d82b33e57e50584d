"""Model bundles, loaded: what ``onward train`` writes (``writer.py``) and a worker uses.

A bundle is a folder (any fsspec address) that is never written to again:

    manifest.json    the sha256 and size of every other file
    model.skops      the fitted estimator; or model.npz, its trees; or model.onnx (``model_files.py``)
    instances.csv    raw rows that the model accepts: the recourse instances; their order is the candidate index
    population.json  what people are like, for costs that count in percentiles (``population.py``); in bundles of older
                     versions reference.csv, raw rows
    retrains.npz     models of resamples of the data, where the promise needs them (``retrains.py``)
    improvement.npz  what says whether a change helps, where options are to (``improvement.py``)
    goal.npz         a learned policy, where the goal needs one (``goal_policy.py``)
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import fsspec
import msgspec
from msgspec import UNSET

from ....agents.actor import Actor
from ....agents.improvement import Improvement
from ....schemas.encoding import FeatureCodec
from ....schemas.events import Value
from ....schemas.problems import JSON_ERRORS
from ....schemas.spec import Feature, FeatureType
from ...errors import ModelError, one_line
from ..models.scoring import DecisionModel
from .baseline import baseline_of, misfit_of_baseline
from .goal_policy import load_goal_policy
from .improvement import load_improvement
from .manifest import MANIFEST, BundleFile, FeatureColumn, Manifest
from .model_files import NotAModelError, read_model
from .population import read_population
from .raw_rows import read_rows
from .retrains import load_retrains

if TYPE_CHECKING:
    import aiohttp

T = TypeVar("T")
Rows = list[dict[str, Value]]

LARGEST_MANIFEST_BYTES = 4 << 20
TOO_LARGE = "takes more memory than there is, or than the setting max_model_bytes allows"
_NAMED = 10
FILE_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")


@dataclass(frozen=True)
class ModelBundle:
    """A loaded bundle. ``manifest_sha256`` is the hash of the manifest's bytes, which hold the hash of every file.

    ``reference`` are raw rows with the values of the population, feature by feature; in bundles of older versions they
    are people. ``retrains`` are models of resamples of the data, by which promises are measured: every second one takes
    no part in choosing options. ``goal_policy`` is the learned policy of a goal for rounds, and ``improvement`` says
    whether changes help. ``baseline`` are the typical values of people whom the model approves; in bundles of older
    versions those of its instances, and None where it has none.
    """

    version: str
    address: str
    manifest_sha256: str
    manifest: Manifest
    model: DecisionModel
    instances: Rows
    reference: Rows
    retrains: Sequence[DecisionModel] = ()
    goal_policy: Actor | None = None
    improvement: Improvement | None = None
    baseline: Mapping[str, Value] | None = None

    def artefact(self, name: str) -> Any:
        """An artefact that a choice or a goal for rounds ``needs``, None where the bundle lacks it."""
        if name == "goal_policy":
            return self.goal_policy
        return len(self.manifest.features) if name == "features" else None


def read_manifest(address: str, *, redirects: bool = False) -> tuple[Manifest, str]:
    """The manifest at ``address``, a local path or any fsspec url, and the sha256 of its bytes.

    ``redirects`` are followed as by ``load_bundle``. Raises ``ModelError``.
    """
    return _manifest(_Folder(address, redirects=redirects), None)


def load_bundle(
    address: str,
    *,
    sha256: str | None,
    columns: tuple[str, ...],
    codec: FeatureCodec | None = None,
    redirects: bool = False,
    copy: Path | None = None,
) -> ModelBundle:
    """Load the bundle whose manifest is at ``address``, a local path or any fsspec url.

    A server's ``redirects`` are followed for addresses that the operator has given, not for those of events.

    ``sha256`` is the expected hash of the manifest, None to accept any; ``columns`` are the encoded columns of the
    program, and ``codec`` its codec, which an ONNX model of raw features needs. ``copy`` is a folder into which
    ``fetch_bundle`` has copied the files: nothing is read from the address then. Raises ``ModelError``, one line that
    names the file and the reason.
    """
    try:
        return _load(_Folder(address, redirects=redirects, copy=copy), sha256, columns, codec)
    except MemoryError:
        raise ModelError(f"{address}: loading it {TOO_LARGE}") from None


def fetch_bundle(address: str, sha256: str, folder: Path, most_bytes: int) -> None:
    """Copy the files of the bundle at ``address`` to a folder, each as its manifest says it.

    Raises ``ModelError``, also where they have more than ``most_bytes`` together. The manifest is called as usual.
    """
    source = _Folder(address)
    manifest, _ = _manifest(source, sha256)
    entries = [entry for name in manifest.__struct_fields__ if isinstance(entry := getattr(manifest, name), BundleFile)]
    if sum(entry.size for entry in entries) > most_bytes:
        raise ModelError(f"{address}: loading it {TOO_LARGE}")
    try:
        (folder / MANIFEST).write_bytes(source.read(source.manifest, LARGEST_MANIFEST_BYTES))
        for entry in entries:
            (folder / entry.file).write_bytes(source.read_checked(entry))
    except MemoryError:
        raise ModelError(f"{address}: loading it {TOO_LARGE}") from None


def _load(folder: _Folder, sha256: str | None, columns: tuple[str, ...], codec: FeatureCodec | None) -> ModelBundle:
    address = folder.address
    manifest, digest = _manifest(folder, sha256)
    if manifest.columns != columns:
        raise ModelError(f"{address}: {_column_difference(manifest.columns, columns)}")
    if codec is not None:
        _check_scales(address, manifest.features, codec.features)
    model, retrains, policy, improvement = manifest.model, manifest.retrains, manifest.goal_policy, manifest.improvement
    width, instances = len(columns), _rows(folder, manifest, manifest.instances, read_rows)
    return ModelBundle(
        version=manifest.version,
        address=address,
        manifest_sha256=digest,
        manifest=manifest,
        model=_loaded(folder, model, lambda file: read_model(model.file, file, width, manifest.onnx, codec)),
        instances=instances,
        reference=_population(folder, manifest),
        retrains=_loaded(folder, retrains, lambda file: load_retrains(file, width, codec, manifest.onnx))
        if retrains
        else (),
        goal_policy=_loaded(folder, policy, load_goal_policy) if policy else None,
        improvement=_loaded(folder, improvement, lambda file: load_improvement(file, improvement.method, width))
        if improvement
        else None,
        baseline=_baseline(address, manifest, instances, codec),
    )


class _Folder:
    """The folder of a manifest, on any file system."""

    def __init__(self, address: str, *, redirects: bool = False, copy: Path | None = None) -> None:
        self.address = address
        if copy is not None:
            self._system, self._folder, self.manifest = fsspec.filesystem("file"), f"{copy}/", MANIFEST
            return
        is_http = address.lower().startswith(("http://", "https://"))
        options = {"get_client": _without_redirects} if is_http and not redirects else {}
        try:
            self._system, path = fsspec.core.url_to_fs(address, **options)
        except (ImportError, OSError, ValueError) as error:
            raise ModelError(f"{address}: not an address that can be read: {one_line(error)}") from None
        folder, _, self.manifest = path.rpartition("/")
        self._folder = f"{folder}/" if folder or path.startswith("/") else ""

    def read(self, name: str, limit: int) -> bytes:
        """The bytes of a file of the folder, at most ``limit``. An address may lead to a device, which has no end."""
        path = self._folder + name
        try:
            is_file = self._system.info(path)["type"] == "file"
            content = self._read_start(path, limit + 1) if is_file else b""
        except FileNotFoundError as error:
            # fsspec raises it for any failure of HTTP, such as a refused connection.
            if isinstance(error.__cause__, OSError) and not isinstance(error.__cause__, FileNotFoundError):
                raise ModelError(f"{self.address}: file {name} cannot be read: {one_line(error.__cause__)}") from None
            raise ModelError(f"{self.address}: file {name} is missing") from None
        except Exception as error:  # each file system raises errors of its own
            raise ModelError(f"{self.address}: file {name} cannot be read: {one_line(error)}") from None
        if not is_file:
            raise ModelError(f"{self.address}: {name} is not a file")
        if len(content) > limit:
            raise ModelError(f"{self.address}: file {name} has more than {limit} bytes")
        return content

    def read_checked(self, entry: BundleFile) -> bytes:
        """The bytes of a file, checked against its size and hash in the manifest."""
        name = entry.file
        if not FILE_NAME.fullmatch(name):
            raise ModelError(f"{self.address}: file name {name!r} leaves the bundle's folder")
        content = self.read(name, entry.size)
        if len(content) != entry.size:
            raise ModelError(f"{self.address}: file {name} has fewer bytes than {entry.size}, which its manifest says")
        if hashlib.sha256(content).hexdigest() != entry.sha256:
            raise ModelError(f"{self.address}: sha256 of file {name} is not {entry.sha256}, which its manifest says")
        return content

    def _read_start(self, path: str, size: int) -> bytes:
        with self._system.open(path, "rb") as file:
            return bytes(file.read(size))


async def _without_redirects(**options: Any) -> aiohttp.ClientSession:
    """A client for HTTP that reads nothing from where it is redirected to."""
    import aiohttp

    async def refuse(*_: object) -> None:
        raise OSError("it redirects elsewhere: announce the address that it redirects to")

    trace = aiohttp.TraceConfig()
    trace.on_request_redirect.append(refuse)
    return aiohttp.ClientSession(trace_configs=[trace], **options)


def _manifest(folder: _Folder, sha256: str | None) -> tuple[Manifest, str]:
    content = folder.read(folder.manifest, LARGEST_MANIFEST_BYTES)
    digest = hashlib.sha256(content).hexdigest()
    if sha256 is not None and digest != sha256:
        # The refusal is published: of a file that is not the one meant it must tell nothing.
        raise ModelError(f"{folder.address}: sha256 is not the expected {sha256}")
    try:
        return msgspec.json.decode(content, type=Manifest), digest
    except JSON_ERRORS as error:
        raise ModelError(f"{folder.address}: not a model manifest: {error}") from None


def _loaded(folder: _Folder, entry: BundleFile, load: Callable[[bytes], T]) -> T:
    """The content of a file of the folder, loaded. Raises ``ModelError`` for one that ``load`` refuses."""
    content = folder.read_checked(entry)
    try:
        return load(content)
    except NotAModelError as error:
        raise ModelError(f"{folder.address}: file {entry.file} {error}") from None
    except Exception as error:  # the libraries' errors have no base class
        raise ModelError(f"{folder.address}: file {entry.file} {_refusal(error)}") from None


def _refusal(error: Exception) -> str:
    """Why a file is refused. Each library has its own words for too little memory."""
    text = one_line(error)
    return TOO_LARGE if isinstance(error, MemoryError) or "alloc" in text else f"is refused: {text}"


def _rows(
    folder: _Folder, manifest: Manifest, entry: BundleFile, read: Callable[[bytes, Mapping[str, FeatureType]], Rows]
) -> Rows:
    content = folder.read_checked(entry)
    try:
        return read(content, {feature.name: feature.type for feature in manifest.features})
    except ValueError as error:
        raise ModelError(f"{folder.address}: file {entry.file}: {error}") from None


def _population(folder: _Folder, manifest: Manifest) -> Rows:
    """Raw rows with the values that people have, feature by feature."""
    if manifest.reference:
        return _rows(folder, manifest, manifest.reference, read_rows)
    return _rows(folder, manifest, manifest.population, read_population) if manifest.population else []


def _baseline(
    address: str, manifest: Manifest, instances: Rows, codec: FeatureCodec | None
) -> Mapping[str, Value] | None:
    """The baseline of reasons; None where there is none.

    Raises ``ModelError`` where the manifest has one of other features or values than the program's.
    """
    is_told = manifest.baseline is not UNSET
    baseline = manifest.baseline if is_told else baseline_of(instances, manifest.features)
    misfit = None if codec is None or not baseline else misfit_of_baseline(baseline, codec)
    if misfit is None:
        return baseline or None
    if is_told:
        raise ModelError(f"{address}: the baseline of its reasons does not fit the spec: {misfit}")
    return None


def _check_scales(address: str, trained: Sequence[FeatureColumn], features: Sequence[Feature]) -> None:
    """Refuse bounds or levels that training did not have: the model would read every value as another."""
    columns = {feature.name: FeatureColumn.from_feature(feature) for feature in features}
    for column in trained:
        for name in ("bounds", "levels"):
            was, now = getattr(column, name), getattr(columns.get(column.name), name, UNSET)
            if was is not UNSET and was != now:
                is_now = "none" if now is UNSET else list(now)
                raise ModelError(
                    f"{address}: the {name} of {column.name} are {is_now}, the model was trained with {list(was)}: "
                    "give these, or train a new model"
                )


def _column_difference(columns: Sequence[str], expected: Sequence[str]) -> str:
    present, wanted = set(columns), set(expected)
    missing = [name for name in expected if name not in present]
    surplus = [name for name in columns if name not in wanted]
    if not missing and not surplus:
        return "the model's columns stand in another order than the spec's"
    parts = [f"{verb} {_first(names)}" for verb, names in (("lacks", missing), ("adds", surplus)) if names]
    return f"the model's columns are not those of the spec: it {' and '.join(parts)}"


def _first(names: Sequence[str]) -> str:
    """The first names, and how many more there are."""
    more = f" and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
    return ", ".join(names[:_NAMED]) + more

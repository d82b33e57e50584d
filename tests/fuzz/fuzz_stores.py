"""Targets that take what stands at an address: model bundles, lists of snapshots."""

from __future__ import annotations

import functools
import hashlib
import io
import warnings
from pathlib import Path
from threading import Event
from zipfile import ZipFile

import fsspec
import msgspec
import numpy as np
import skops.io
from fuzz_events import JSON_WORDS, PROGRAMS
from fuzz_inputs import RECORD, Target, folder
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.neural_network import MLPClassifier

from onward.agents.trees import dump_trees
from onward.streams.errors import ModelError
from onward.streams.ledger.check import LedgerMeta
from onward.streams.programs.bundle.loader import load_bundle, read_manifest
from onward.streams.programs.bundle.manifest import BundleFile, FeatureColumn, Manifest
from onward.streams.programs.bundle.measured import Data, Measured
from onward.streams.programs.bundle.raw_rows import write_rows
from onward.streams.programs.models.scoring import scorer
from onward.streams.programs.onnx.check import parse_onnx
from onward.streams.programs.onnx.inputs import inputs_of
from onward.streams.programs.onnx.outputs import desired_class, with_one_output
from onward.streams.programs.onnx.trees import flattened
from onward.streams.records import TopicPartition
from onward.streams.snapshots.store import LIST_FILE, Snapshot, SnapshotError, Snapshots

JOURNAL = TopicPartition("journal", 0)
LOAN = PROGRAMS["loan"]
COLUMNS = LOAN.codec.columns
FEATURES = tuple(FeatureColumn(feature.name, feature.type) for feature in LOAN.spec.features)
ROWS = write_rows(LOAN.instances[:3], {feature.name: feature.type for feature in LOAN.spec.features})
SCHEMA = "schema.json"


# --- models ---------------------------------------------------------------------------------------------------------


def manifest(data: bytes) -> None:
    """A manifest with its hash, or ``ModelError``."""
    store("bundle/manifest.json", data)
    try:
        found, digest = read_manifest("memory://bundle/manifest.json")
    except ModelError as error:
        told = str(error)
    else:
        assert isinstance(found, Manifest)
        assert digest == hashlib.sha256(data).hexdigest()
        return
    assert "\n" not in told


def bundle(data: bytes) -> None:
    """A model that scores, or ``ModelError``, for files that are what their manifest says, whatever they hold.

    The inputs are the number of an estimator, a part of its file and what that part holds instead, and the rows.
    """
    number, part, content, rows = (data.split(RECORD, 3) + [b""] * 4)[:4]
    parts = dict(estimators()[sum(number) % len(estimators())])
    names = sorted(parts)
    parts[names[sum(part) % len(names)] if part else SCHEMA] = content
    files = {"model.npz" if "roots.npy" in parts else "model.skops": _zip(parts), "rows.csv": rows}
    for name, stored in files.items():
        store(f"bundle/{name}", stored)
    model, table = (BundleFile(name, len(it), hashlib.sha256(it).hexdigest()) for name, it in files.items())
    told = Manifest(
        program="loan",
        version="v",
        estimator="e",
        columns=COLUMNS,
        features=FEATURES,
        model=model,
        instances=table,
        reference=table,
    )
    store("bundle/manifest.json", msgspec.json.encode(told))
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found = load_bundle("memory://bundle/manifest.json", sha256=None, columns=COLUMNS)
    except ModelError as error:
        message = str(error)
    else:
        with np.errstate(all="ignore"):
            assert found.model.score(np.full((3, len(COLUMNS)), 0.5)).shape == (3,)
            assert found.model.score(np.zeros((20, len(COLUMNS)))).shape == (20,)
        return
    assert "\n" not in message


@functools.cache
def estimators() -> list[dict[str, bytes]]:
    """The files in the archives of fitted models, by name."""
    X = np.random.default_rng(0).random((40, len(COLUMNS)))
    y = (X[:, 0] > 0.5).astype(int)
    models = (
        LogisticRegression(),
        RandomForestClassifier(1, max_depth=2, random_state=0),
        MLPClassifier((2,), solver="lbfgs", max_iter=1000, random_state=0),
    )
    found = []
    for model in models:
        with ZipFile(io.BytesIO(skops.io.dumps(model.fit(X, y)))) as archive:
            found.append({name: archive.read(name) for name in archive.namelist()})
    booster = HistGradientBoostingClassifier(max_iter=2, max_depth=2, min_samples_leaf=5).fit(X, y)
    with ZipFile(io.BytesIO(dump_trees(scorer(booster, len(COLUMNS))))) as archive:
        found.append({name: archive.read(name) for name in archive.namelist()})
    return found


def onnx(data: bytes) -> None:
    """Trees that score, or ``ValueError``, for a file of ONNX, before onnxruntime sees it."""
    try:
        model = parse_onnx(data)
        column, _ = desired_class(model, 1)
        with_one_output(model)
        inputs_of(model, 4, None)
        trees = flattened(model, column, 4)
    except ValueError:
        return
    if trees is not None:
        with np.errstate(all="ignore"):
            assert ((trees.score(np.full((3, 4), 0.5)) >= 0) & (trees.score(np.zeros((3, 4))) <= 1)).all()


def _onnx_seeds() -> list[bytes]:
    files = Path(__file__).parents[1] / "streams" / "programs" / "onnx" / "boosters"
    return [file.read_bytes() for file in sorted(files.glob("*.onnx"))]


def _zip(parts: dict[str, bytes]) -> bytes:
    packed = io.BytesIO()
    with ZipFile(packed, "w") as archive:
        for name, content in parts.items():
            archive.writestr(name, content)
    return packed.getvalue()


def _bundle_seeds() -> list[bytes]:
    seeds = []
    for number, parts in enumerate(estimators()):
        names = sorted(parts)
        arrays = [name for name in names if name.endswith(".npy")]
        for name in (*(SCHEMA,) * (SCHEMA in parts), *arrays[:2]):
            part = bytes([names.index(name)])
            seeds.append(RECORD.join([bytes([number]), part, parts[name], ROWS]))
    return seeds


# --- snapshots ------------------------------------------------------------------------------------------------------


def snapshots(data: bytes) -> None:
    """Snapshots of this journal partition, newest first, of which none can be fetched that is not there."""
    store(f"snapshots/{JOURNAL.topic}-{JOURNAL.partition}/{LIST_FILE}", data)
    source = Snapshots("memory://snapshots", 3)
    listed = source.listed(JOURNAL)
    offsets = [snapshot.ledger.offset for snapshot in listed]
    assert offsets == sorted(offsets, reverse=True)
    for snapshot in listed[:3]:
        assert snapshot.journal == JOURNAL
        try:
            source.fetch(snapshot, folder() / "fetched", Event())
        except SnapshotError:
            continue
        raise AssertionError("a snapshot that is not there was fetched")


def store(path: str, content: bytes) -> None:
    """Put a file into the memory of this process."""
    fsspec.filesystem("memory").pipe_file(f"/{path}", content)


META = LedgerMeta(1, "journal", 0, 7, 2)
LISTED = Snapshot(f"{7:020}-{'0' * 16}.sqlite", 512, "0" * 64, 1_790_000_000_000, META)
LISTS = [
    msgspec.json.encode({"snapshots": kept})
    for kept in (
        [],
        [LISTED],
        [msgspec.structs.replace(LISTED, size=1, ledger=LedgerMeta(1, "other", 3, 9, 1)), LISTED],
    )
]
MANIFEST = msgspec.json.encode(
    Manifest(
        program="loan",
        version="v1",
        estimator="e",
        columns=COLUMNS,
        features=FEATURES,
        model=BundleFile("model.skops", 1, "0" * 64),
        instances=BundleFile("instances.csv", 1, "0" * 64),
        reference=BundleFile("reference.csv", 1, "0" * 64),
        measured=Measured(data=Data(3)),
        libraries={"skops": "0.16.0"},
    )
)
NOT_UTF8 = {"text that is not UTF-8": b'{"\xff": 1}', "deep nesting": b"[" * 100_000, "nothing": b""}
SCHEMA_WORDS = [
    *(b'"__class__": "', b'"__module__": "', b'"__loader__": "', b'"__id__": ', b'"content": ', b'"file": "'),
    *(b"NdArrayNode", b"TreeNode", b"JsonNode", b"ObjectNode", b"ReduceNode", b"MethodNode", b"FunctionNode"),
    *(b"PartialNode", b"TypeNode", b"SliceNode", b"DictNode", b"ListNode", b"TupleNode", b"SetNode", b"BytesNode"),
    *(b"CachedNode", b"builtins", b"numpy", b"sklearn.tree._tree", b"-1", b"0", b"1000000000000", b"null"),
    *(b"'descr': '|O'", b"'shape': (1000000000,)", b"'fortran_order': True", b"<f4", b"nan"),
]
TARGETS = {
    "manifest": Target(manifest, [MANIFEST], JSON_WORDS, NOT_UTF8),
    "bundle": Target(bundle, _bundle_seeds(), SCHEMA_WORDS, share=0.05),
    "onnx": Target(onnx, _onnx_seeds(), [b"LEAF", b"BRANCH_GT", b"ZipMap", b"\xff\xff\xff\x7f"], share=0.2),
    "snapshots": Target(snapshots, LISTS, JSON_WORDS, NOT_UTF8),
}

import hashlib
import json
import os
from pathlib import Path

import fsspec
import msgspec
import numpy as np
import pytest
import skops.io
from sklearn.calibration import CalibratedClassifierCV
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.neural_network import MLPClassifier
from sklearn.svm import SVC

from onward.schemas.encoding import FeatureCodec
from onward.schemas.spec import ProgramSpec
from onward.streams.errors import ModelError, UsageError
from onward.streams.programs.bundle import model_files
from onward.streams.programs.bundle.loader import ModelBundle, load_bundle
from onward.streams.programs.bundle.manifest import MANIFEST, Manifest
from onward.streams.programs.bundle.measured import Data, Measured
from onward.streams.programs.bundle.writer import write_bundle

SPEC = msgspec.convert(
    {
        "program": "loan",
        "features": [
            {"name": "income", "type": "continuous", "bounds": [0, 100]},
            {"name": "debts", "type": "integer", "bounds": [0, 10]},
            {"name": "home, or none", "type": "categorical", "categories": ["own", 'the "old" one', "é"]},
        ],
        "label": {"name": "repaid"},
        "model": {"manifest": "model/manifest.json"},
        "policy": {"generator": "instances"},
    },
    ProgramSpec,
    strict=False,
)
CODEC = FeatureCodec(SPEC)
INSTANCES = [
    {"income": 33.300000000000004, "debts": 3, "home, or none": "é"},
    {"income": 100, "debts": 0, "home, or none": 'the "old" one'},
    {"income": 1e-07, "debts": 10, "home, or none": "own"},
]
RNG = np.random.default_rng(0)
X = RNG.random((60, CODEC.dimension))
Y = (X[:, 0] > X[:, 1]).astype(int)
FOREST = RandomForestClassifier(5, random_state=0).fit(X, Y)


class Stranger:
    """A type no model may hold."""


def write(folder: Path, estimator=FOREST) -> Manifest:
    return write_bundle(
        folder,
        SPEC,
        CODEC.columns,
        version="v1",
        estimator=estimator,
        instances=INSTANCES,
        reference=INSTANCES[:1],
        measured=Measured(data=Data(3)),
    )


def load(folder: Path, *, sha256: str | None = None, columns: tuple[str, ...] = CODEC.columns) -> ModelBundle:
    return load_bundle(str(folder / MANIFEST), sha256=sha256, columns=columns)


@pytest.fixture
def folder(tmp_path) -> Path:
    write(tmp_path / "bundle")
    return tmp_path / "bundle"


def rewrite(folder: Path, **changes) -> None:
    manifest = json.loads((folder / MANIFEST).read_bytes())
    (folder / MANIFEST).write_text(json.dumps({**manifest, **changes}))


def replace_model(folder: Path, content: bytes, name: str = "model.skops") -> None:
    (folder / "model.skops").write_bytes(content)
    rewrite(folder, model={"file": name, "size": len(content), "sha256": hashlib.sha256(content).hexdigest()})


@pytest.mark.parametrize(
    "estimator",
    [
        FOREST,
        HistGradientBoostingClassifier(max_iter=9).fit(X, Y),
        LogisticRegression().fit(X, Y),
        MLPClassifier((4,), solver="lbfgs", random_state=0).fit(X, Y),
    ],
)
def test_a_bundle_comes_back_as_it_was_written(tmp_path, estimator):
    manifest = write(tmp_path / "bundle", estimator)
    digest = hashlib.sha256((tmp_path / "bundle" / MANIFEST).read_bytes()).hexdigest()
    bundle = load(tmp_path / "bundle", sha256=digest)
    assert (bundle.version, bundle.manifest_sha256, bundle.manifest) == ("v1", digest, manifest)
    np.testing.assert_allclose(bundle.model.score(X), estimator.predict_proba(X)[:, 1], rtol=0, atol=1e-12)
    assert bundle.reference == INSTANCES[:1]
    assert bundle.instances == INSTANCES
    assert [[type(value) for value in row.values()] for row in bundle.instances] == [
        [type(value) for value in row.values()] for row in INSTANCES
    ]


def test_a_network_fitted_by_its_default_solver_can_be_loaded(tmp_path):
    network = MLPClassifier((4,), early_stopping=True, random_state=0)
    write(tmp_path / "bundle", network.fit(X, Y))
    assert load(tmp_path / "bundle").model.score(X).shape == (60,)


def test_a_bundle_loads_from_any_fsspec_address(folder):
    memory = fsspec.filesystem("memory")
    for file in folder.iterdir():
        memory.pipe_file(f"/store/loan/{file.name}", file.read_bytes())
    bundle = load_bundle("memory://store/loan/manifest.json", sha256=None, columns=CODEC.columns)
    assert bundle.instances == INSTANCES
    assert load_bundle(f"file://{folder}/{MANIFEST}", sha256=None, columns=CODEC.columns).version == "v1"


def test_a_bundle_is_never_overwritten_and_no_temporary_folder_stays(folder):
    before = (folder / MANIFEST).read_bytes()
    with pytest.raises(UsageError, match=r"bundle: already holds something; .*name another"):
        write(folder)
    assert (folder / MANIFEST).read_bytes() == before
    assert [path.name for path in folder.parent.iterdir()] == ["bundle"]


def test_a_folder_that_cannot_be_written_is_a_usage_error(tmp_path):
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(UsageError, match="cannot be written"):
        write(tmp_path / "file" / "bundle")


def test_an_estimator_that_could_not_be_loaded_is_not_written(tmp_path):
    with pytest.raises(ModelError, match=r"type sklearn\.svm\._classes\.SVC is not supported"):
        write(tmp_path / "bundle", SVC().fit(X, Y))
    assert not any(tmp_path.iterdir())


def digest_of(content):
    return hashlib.sha256(content).hexdigest()


def test_a_wrong_manifest_hash_is_refused_without_the_right_one(folder):
    with pytest.raises(ModelError, match=rf"^\S*manifest\.json: sha256 is not the expected {'0' * 64}$"):
        load(folder, sha256="0" * 64)


@pytest.mark.parametrize("name", ["model.skops", "instances.csv", "population.json"])
def test_every_file_must_be_what_the_manifest_says(folder, name):
    file = folder / name
    content = file.read_bytes()
    file.write_bytes(content[:-1] + bytes([content[-1] ^ 1]))
    with pytest.raises(ModelError, match=rf"sha256 of file {name} is not {digest_of(content)}, which"):
        load(folder)
    file.write_bytes(content + b"\n")
    with pytest.raises(ModelError, match=rf"file {name} has more than {len(content)} bytes$"):
        load(folder)
    file.write_bytes(content[:-1])
    with pytest.raises(ModelError, match=rf"file {name} has fewer bytes than {len(content)}, which"):
        load(folder)
    file.unlink()
    with pytest.raises(ModelError, match=f"file {name} is missing$"):
        load(folder)


def test_a_missing_or_unreadable_manifest_is_refused(tmp_path):
    with pytest.raises(ModelError, match=r"nowhere/manifest\.json: file manifest\.json is missing"):
        load(tmp_path / "nowhere")
    with pytest.raises(ModelError, match=r"martian://x/manifest\.json: not an address that can be read: .*martian"):
        load_bundle("martian://x/manifest.json", sha256=None, columns=())


def test_an_address_that_leads_to_a_device_or_a_pipe_is_refused(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "link").symlink_to("/dev/zero")
    for path in ("/dev/zero", tmp_path / "pipe", tmp_path / "link", tmp_path):
        with pytest.raises(ModelError, match=r"is not a file$"):
            load_bundle(str(path), sha256=None, columns=())


def test_a_manifest_is_read_up_to_its_limit_only(tmp_path):
    with (tmp_path / MANIFEST).open("wb") as file:
        file.truncate(1 << 40)
    with pytest.raises(ModelError, match=r"file manifest\.json has more than 4194304 bytes$"):
        load(tmp_path)


@pytest.mark.parametrize("size", [-1, (1 << 30) + 1])
def test_a_file_may_not_be_larger_than_the_limit_whatever_the_manifest_says(folder, size):
    rewrite(folder, instances={"file": "instances.csv", "size": size, "sha256": "0" * 64})
    with pytest.raises(ModelError, match=r"not a model manifest: Expected `int` .* at `\$\.instances\.size`"):
        load(folder)


def test_a_model_that_unpacks_to_too_much_is_refused(folder, monkeypatch):
    monkeypatch.setattr(model_files, "LARGEST_UNPACKED_BYTES", 1000)
    with pytest.raises(ModelError, match=r"model\.skops is not a skops model: it unpacks to \d+ bytes, .* is 1000$"):
        load(folder)


@pytest.mark.parametrize(
    "name", ["../model.skops", "/etc/passwd", "a/model.skops", "..", "", "model.skops\n", "s3://x"]
)
def test_a_file_outside_the_folder_is_refused(folder, name):
    replace_model(folder, (folder / "model.skops").read_bytes(), name)
    with pytest.raises(ModelError, match="leaves the bundle's folder"):
        load(folder)


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"format": 2}, "format"),
        ({"columns": "income"}, "columns"),
        ({"surprise": 1}, "surprise"),
        ({"program": "No Such"}, "program"),
    ],
)
def test_a_manifest_of_another_form_is_refused(folder, changes, says):
    rewrite(folder, **changes)
    with pytest.raises(ModelError, match=f"not a model manifest: .*{says}"):
        load(folder)


@pytest.mark.parametrize(
    ("columns", "says"),
    [
        ((*CODEC.columns[:-1], "age"), "it lacks age and adds home, or none:é"),
        (CODEC.columns[::-1], "another order"),
    ],
)
def test_columns_that_are_not_the_programs_are_refused(folder, columns, says):
    with pytest.raises(ModelError, match=says):
        load(folder, columns=columns)


def test_bounds_that_training_did_not_have_are_refused(folder):
    income, *others = CODEC.spec.features
    wider = (msgspec.structs.replace(income, bounds=(0.0, 200.0)), *others)
    codec = FeatureCodec(msgspec.structs.replace(CODEC.spec, features=wider))
    with pytest.raises(ModelError, match=r"the bounds of income are \[0.0, 200.0\], the model was trained with \["):
        load_bundle(str(folder / MANIFEST), sha256=None, columns=CODEC.columns, codec=codec)
    assert load_bundle(str(folder / MANIFEST), sha256=None, columns=CODEC.columns, codec=CODEC).version == "v1"


def test_a_type_that_is_not_on_the_list_is_named(folder):
    model = LogisticRegression().fit(X, Y)
    model.note = Stranger()
    replace_model(folder, skops.io.dumps(model))
    with pytest.raises(ModelError, match=r"model\.skops holds types that are not allowed: \S*Stranger$"):
        load(folder)


def test_a_type_that_only_skops_trusts_is_named(folder):
    replace_model(folder, skops.io.dumps(SVC().fit(X, Y)))
    with pytest.raises(ModelError, match=r"model\.skops is refused: type sklearn\.svm\._classes\.SVC is not supported"):
        load(folder)


def test_an_estimator_that_is_kept_as_trees_is_refused_as_a_skops_file(folder):
    replace_model(folder, skops.io.dumps(CalibratedClassifierCV(LogisticRegression(), ensemble=False).fit(X, Y)))
    with pytest.raises(ModelError, match=r"types that are not allowed|is not supported in a skops file"):
        load(folder)


@pytest.mark.parametrize("content", [b"", b"\x80\x04K\x01.", b"PK\x05\x06" + bytes(18)])
def test_a_model_file_that_skops_cannot_read_is_refused(folder, content):
    replace_model(folder, content)
    with pytest.raises(ModelError, match=r"model\.skops is not a skops model: ."):
        load(folder)


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (b"income,debts\n1,2\n", "line 1: columns are income, debts, not income, debts, home, or none"),
        (b'income,debts,"home, or none"\n1,2,own\n1,2.5,own\n', "line 3: .*2.5"),
        (b'income,debts,"home, or none"\ninf,2,own\n', "line 2: 'inf' is not a finite number"),
        (b'income,debts,"home, or none"\n1,2\n', "line 2"),
        (b"\xff", "'utf-8' codec"),
    ],
)
def test_instances_that_cannot_be_read_are_refused_with_their_line(folder, content, says):
    (folder / "instances.csv").write_bytes(content)
    digest = hashlib.sha256(content).hexdigest()
    rewrite(folder, instances={"file": "instances.csv", "size": len(content), "sha256": digest})
    with pytest.raises(ModelError, match=rf"file instances\.csv: {says}"):
        load(folder)

"""A model is tried in a process of its own, which has little memory and time."""

from __future__ import annotations

import asyncio
import hashlib
import itertools
import json
import resource
import signal
import subprocess
import sys
import time
from pathlib import Path

import msgspec
import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from onward.schemas.encoding import FeatureCodec
from onward.schemas.events import Model
from onward.schemas.specfile import load_spec
from onward.streams.errors import ModelError, OnwardError
from onward.streams.kafka.service import _first_load
from onward.streams.programs import trial_server
from onward.streams.programs.assembly import assemble, check_model
from onward.streams.programs.bundle.loader import load_bundle
from onward.streams.programs.bundle.model_files import model_file
from onward.streams.programs.load_limits import LoadLimits, limited_memory
from onward.streams.programs.trial import SERVER, Request, Trial, Trials
from onward.tests.support.changed_specs import feature
from onward.tests.support.kafka_handlers import until
from onward.tests.support.model_bombs import bomb_bundle, trees_bomb, waits_for_one
from onward.tests.support.programs import POLICIES, write_programs

LIMITS = LoadLimits()
SECRETS = {"ONWARD_SASL_PASSWORD": "hunter-1", "AWS_SECRET_ACCESS_KEY": "hunter-2", "ANYTHING": "hunter-3"}
"""Variables of the worker whose trials they are."""


async def try_model(trial, limits, command=SERVER):
    async with Trials(limits, command) as held:
        await held.hold(trial)


class Kept(Trials):
    """Trials with any limits, whose process stays for the next test: to start one takes seconds."""

    async def try_model(self, trial, limits=LIMITS):
        self._limits = limits
        await self.hold(trial)


@pytest.fixture(scope="module")
def kept():
    with pytest.MonkeyPatch.context() as patch:
        for name, value in SECRETS.items():
            patch.setenv(name, value)
        trials = Kept(LIMITS)
        yield trials
        trials._end()


@pytest.fixture(scope="module")
def program(tmp_path_factory):
    folder = tmp_path_factory.mktemp("program")
    [spec] = write_programs(folder, {"steps": POLICIES["steps"]})
    return load_spec(spec).spec, folder / "steps-v1"


def trial_of(spec, bundle, program="steps", version="v1"):
    manifest = bundle / "manifest.json"
    return Trial(Model(program, version, str(manifest), hashlib.sha256(manifest.read_bytes()).hexdigest()), spec)


async def test_a_good_model_passes(kept, program):
    await kept.try_model(trial_of(*program))


@pytest.mark.parametrize(
    ("changes", "problem"),
    [
        ({"version": "v2"}, r"its version is 'v1', the event says 'v2'"),
        ({"program": "cards"}, r"it was trained for program steps: train or import it with the spec of cards"),
    ],
)
async def test_a_model_of_another_version_or_program_than_its_event_says_is_refused(kept, program, changes, problem):
    trial = trial_of(*program, **changes)
    with pytest.raises(ModelError, match=problem):
        await kept.try_model(trial)
    codec = FeatureCodec(trial.spec)
    bundle = load_bundle(trial.model.manifest, sha256=None, columns=codec.columns, codec=codec)
    with pytest.raises(ModelError, match=problem):
        check_model(bundle, trial.model, trial.spec)


async def test_a_model_is_refused_for_the_reason_that_loading_it_here_has(kept, program):
    with pytest.raises(ModelError, match=r"^nowhere/manifest.json: file manifest.json is missing$"):
        await kept.try_model(Trial(Model("steps", "v1", "nowhere/manifest.json", "0" * 64), program[0]))


async def test_a_model_is_tried_with_the_scale_that_the_program_s_first_model_has(kept, tmp_path):
    """The spec's bounds were narrowed later, and models go on being trained with those of the first one."""
    [file] = write_programs(tmp_path, {"steps": POLICIES["steps"]})
    text = file.read_text()
    narrowed = text.replace('"bounds":[0.0,100.0]', '"bounds":[0.0,90.0]')
    assert narrowed != text
    file.write_text(narrowed)
    program, bundle = assemble(load_spec(file)), tmp_path / "steps-v1"
    trial = trial_of(program.spec, bundle)
    await _first_load(kept)(program, trial.model)
    # It is the program that knows the scale: the spec alone does not.
    with pytest.raises(ModelError, match=r"the bounds of income are \[0\.0, 90\.0\], the model was trained with"):
        await kept.try_model(trial)
    manifest = bundle / "manifest.json"
    other = json.loads(manifest.read_bytes())
    [income] = [column for column in other["features"] if column["name"] == "income"]
    income["bounds"] = [0.0, 90.0]
    manifest.write_text(json.dumps(other))
    with pytest.raises(ModelError, match=r"bounds of income are \[0\.0, 100\.0\], the model was trained with"):
        await _first_load(kept)(program, trial_of(program.spec, bundle).model)


async def test_a_model_that_takes_more_memory_is_refused_and_the_limit_is_named(kept, program, tmp_path):
    spec, bundle = program
    address, digest = bomb_bundle(bundle, tmp_path / "bomb", "m.npz", trees_bomb(240_000_000))
    with pytest.raises(ModelError, match=r"bomb/manifest.json: file m\.npz takes more memory than .* max_model_bytes"):
        await kept.try_model(Trial(Model("steps", "v1", address, digest), spec), LoadLimits(memory_bytes=200 << 20))


@pytest.mark.attack
async def test_a_model_whose_cost_depends_on_what_one_person_writes_is_refused(kept, program, tmp_path):
    spec, bundle = program
    changes = {"onnx": {"column": 1, "rows": 32}}
    address, digest = bomb_bundle(bundle, tmp_path / "waits", "m.onnx", waits_for_one("Expand"), **changes)
    with pytest.raises(
        ModelError, match=r"m\.onnx is refused: the shape of b, which operator Expand makes, is not known"
    ):
        await kept.try_model(Trial(Model("steps", "v1", address, digest), spec))


def test_a_model_that_takes_more_time_ends_its_process(program, monkeypatch):
    request = Request(trial_of(*program), LoadLimits(seconds=1), "")
    monkeypatch.setattr(trial_server, "load_bundle", lambda *_, **__: max(itertools.count()))
    assert trial_server._tried(request).signal == signal.SIGXCPU


async def test_a_model_that_took_more_time_is_refused_and_the_limit_is_named(program):
    command = "sh", "-c", f"""echo ready; read line; echo '{{"signal": {int(signal.SIGXCPU)}}}'"""
    with pytest.raises(ModelError, match=r"takes more than 1 s of processor time \(setting max_model_seconds\)"):
        await try_model(trial_of(*program), LoadLimits(seconds=1), command)


def test_a_model_whose_file_never_comes_is_refused(program, monkeypatch):
    limits = LoadLimits(seconds=1, waiting_seconds=1, waiting_factor=1)
    request = Request(Trial(Model("steps", "v1", "data", ""), program[0]), limits, "")
    monkeypatch.setattr(trial_server, "load_bundle", lambda *_, **__: time.sleep(60))
    assert trial_server._tried(request).problem == "data: loading it does not end"


async def test_a_trial_that_somebody_ends_refuses_no_model(program):
    """Signals to a whole group of processes must not make a dead letter of a good model."""
    command = "sh", "-c", """echo ready; read line; echo '{"signal": 15}'"""
    with pytest.raises(OnwardError, match="was ended by SIGTERM") as raised:
        await try_model(trial_of(*program), LIMITS, command)
    assert not isinstance(raised.value, ModelError)


async def test_a_trial_that_cannot_begin_refuses_no_model(program):
    with pytest.raises(OnwardError, match="the process that tries models has ended: broken") as raised:
        await try_model(trial_of(*program), LIMITS, ("sh", "-c", "echo broken >&2; exit 3"))
    assert not isinstance(raised.value, ModelError)


def read(path):
    return path.read_text().strip() if path.exists() else ""


async def test_a_cancelled_trial_leaves_no_process(program, tmp_path):
    command = "sh", "-c", f"echo $$ > {tmp_path}/pid; sleep 60"
    trying = asyncio.create_task(try_model(trial_of(*program), LIMITS, command))
    await until(lambda: read(tmp_path / "pid"))
    trying.cancel()
    with pytest.raises(asyncio.CancelledError):
        await trying
    assert read(Path("/proc") / read(tmp_path / "pid") / "status") == ""


def test_memory_is_limited_within_a_block_alone():
    before = resource.getrlimit(resource.RLIMIT_DATA)
    with limited_memory(64 << 20), pytest.raises(MemoryError):
        np.ones(128 << 20, dtype=np.uint8)
    assert resource.getrlimit(resource.RLIMIT_DATA) == before
    assert np.ones(128 << 20, dtype=np.uint8).size


def test_what_a_model_needs_to_import_does_not_count_as_the_models_memory(tmp_path):
    model = LogisticRegression().fit(np.eye(4), [0, 1, 0, 1])
    (tmp_path / "m.skops").write_bytes(model_file(model, 4).content)
    program = (
        "import sys; from pathlib import Path; from onward.streams.kafka import service; "
        "from onward.streams.programs.bundle.model_files import read_model; "
        "content = Path(sys.argv[1]).read_bytes()\n"
        "with service.limited_memory(16 << 20): read_model('m.skops', content, 4)"
    )
    done = subprocess.run(
        [sys.executable, "-P", "-c", program, str(tmp_path / "m.skops")], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr


@pytest.mark.attack
async def test_a_model_that_decides_by_what_the_spec_protects_is_refused(kept, program):
    spec, bundle = program
    protected = feature("region", protected=True)(spec)
    with pytest.raises(ModelError, match="the model reads region, which the spec protects"):
        await kept.try_model(trial_of(protected, bundle))
    allowed = msgspec.structs.replace(protected, model=msgspec.structs.replace(protected.model, may_read=("region",)))
    await kept.try_model(trial_of(allowed, bundle))


@pytest.mark.attack
async def test_the_process_that_opens_a_model_s_files_inherits_no_secret(kept, program):
    await kept.try_model(trial_of(*program))
    process = Path("/proc") / str(kept._process.pid)
    environment = (process / "environ").read_bytes()
    assert b"hunter" not in environment
    assert b"PATH=" in environment
    assert b"hunter" not in (process / "cmdline").read_bytes()
    # Its standard streams are pipes to the worker; all others it has opened itself.
    opened = [str(entry.readlink()) for entry in (process / "fd").iterdir()]
    assert not [target for target in opened if target.startswith("socket:")]
    assert len([target for target in opened if target.startswith("pipe:")]) == 3

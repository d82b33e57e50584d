"""``onward models``: imports a model from elsewhere, checks a new model, and announces it to a program's workers."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Self

from pydantic import AfterValidator, Field, model_validator
from pydantic_settings import CliPositionalArg, CliVariadicArg

from ...schemas.encoding import FeatureCodec
from ...schemas.events import Model
from ..errors import LedgerError, OnwardError, UsageError
from ..kafka import connection
from ..kafka.admin.preflight import preflight
from ..programs.assembly import check_identity
from ..programs.bundle.loader import load_bundle, read_manifest
from ..programs.compositions import cautions
from ..programs.load_limits import LoadLimits, limited_memory
from ..programs.model_fit import ModelFacts, misfit
from ..programs.onnx.matrix import Stated
from ..programs.spec_check import load_program_spec, load_spec_of
from ..programs.training.importing import import_model
from ..replay.model_check import CheckedModel, check_open_options
from ..settings import BrokerSettings, FlagSettings
from ..settings.fields import Csv, Json, Metavar, ModelBytes, Names, Paths
from .display.model_check import broken_in_words, print_check
from .display.new_model import print_model, tell
from .display.read_progress import ReadProgress
from .display.reminders import remind
from .flags.actions import run_action
from .flags.new_model import NewModelSettings, Seed
from .flags.parsing import parse_settings
from .process.announcement import announce_event

SOURCE = "onward/models"
BROKEN_LIMIT = 0.05
USAGE = """usage: onward models import FILE.onnx [FLAGS]
       onward models check MANIFEST [FLAGS]
       onward models announce [FLAGS]

  import    Make a program's model from a classifier in ONNX.
  check     Tell how many open options a new model would break, before it is announced.
  announce  Tell the workers of a program that it has a new model.

`onward models ACTION --help` explains the flags of an action."""
IMPORT = """Make a program's model from a classifier in ONNX. Write it, its recourse instances and a manifest to a new
folder. The classifier takes one input a feature, named as in the spec, with raw values; or one matrix of the spec's
columns, raw or encoded. Give data that it was not fitted on: else it looks better than it is."""
CHECK = """Tell how many open options of a program a new model would break: those that it has promised, or else those
that people may still carry out. Nothing is announced or written: the
ledgers are read while their workers run. The exit code is 0 while at most --limit of the options break, and of no group
more than --group-limit; 1 above."""
DESCRIPTION = """Check a model and announce it on the models topic: the program's workers use it for every application
after that. One that they refuse all the same becomes a dead letter, and they go on with the model they have."""


def _share(share: float) -> float:
    if not 0.0 <= share <= 1.0:
        raise ValueError(f"give a share from 0 to 1, such as {BROKEN_LIMIT}")
    return share


Share = Annotated[float, AfterValidator(_share), Metavar("SHARE")]


class ImportSettings(NewModelSettings):
    """Settings of ``onward models import``."""

    file: CliPositionalArg[Annotated[Path, Metavar("FILE.onnx")]] = Field(description="Classifier in ONNX.")
    data: Csv = Field(description="Data with features and label.")
    seed: Seed = Field(0, description="Seed of the order of rows.")
    probabilities: Annotated[str | None, Metavar("NAME")] = Field(
        None, description="The output that holds them, where several might."
    )
    columns: Annotated[str | None, Metavar("raw|encoded|NAMES")] = Field(
        None,
        description="What the columns of a model with one matrix hold: values as in the data, or encoded ones, in the "
        "order of the spec; or the names of raw ones in their order, as income,region:north,region:south (default: "
        "found out by its splits and the labels).",
    )
    retrain: CliVariadicArg[Annotated[Paths, Metavar("RETRAIN.onnx")]] = Field(
        (),
        description="The same classifier, fitted again on resamples of its data: an even number of files, by which the "
        "spec's promise is measured.",
    )


class ModelCheckSettings(FlagSettings):
    """Settings of ``onward models check``."""

    manifest: CliPositionalArg[str] = Field(description="The new model's manifest: a path, or an fsspec address.")
    spec: Paths = Field(min_length=1, description="The program's spec; repeat the flag for those of other programs.")
    state_dir: Annotated[Paths, Metavar("DIR")] = Field(
        min_length=1,
        description="Folder of a worker's ledgers; repeat the flag for every worker that serves the program.",
    )
    by: Annotated[Names, Metavar("FEATURE")] = Field(
        (),
        description="Count by this feature of the people too, a number by quartiles; repeat the flag for several.",
    )
    limit: Share = Field(BROKEN_LIMIT, description="Largest share of the open options that may break, 0 to 1.")
    group_limit: Annotated[Share | None, Metavar("SHARE")] = Field(
        None, description="The same for the options of each group of --by (default: no limit)."
    )
    max_model_bytes: ModelBytes = LoadLimits.memory_bytes
    as_json: Json = False

    @model_validator(mode="after")
    def _groups(self) -> Self:
        if self.group_limit is not None and not self.by:
            raise ValueError("--group-limit: say with --by which groups")
        return self


class ModelSettings(BrokerSettings):
    """Settings of ``onward models announce``."""

    manifest: str = Field(
        min_length=1, description="The model's manifest: a path, or an fsspec address that every worker can read."
    )
    spec: Paths = Field(
        (), description="Specs of the workers' programs, to compare the model's columns with those of its program."
    )
    state_dir: Paths = Field(
        (), description="Folders of workers' ledgers, to tell how many open options the model breaks."
    )
    max_model_bytes: ModelBytes = LoadLimits.memory_bytes


def run(args: Sequence[str]) -> int:
    """Run the action that the first argument names."""
    return run_action("models", USAGE, {"import": import_file, "check": check, "announce": announce}, args)


def import_file(args: Sequence[str]) -> int:
    """Import a model and print how good it is."""
    options = parse_settings(ImportSettings, "onward models import", IMPORT, args)
    loaded = load_program_spec(options.spec)
    remind(loaded.path, cautions)
    manifest = import_model(
        options.file,
        options.data,
        loaded,
        options.output,
        seed=options.seed,
        probabilities=options.probabilities,
        columns=None if options.columns is None else _stated(options.columns),
        retrains=options.retrain,
        goal_policy=options.goal_policy,
        tell=tell,
    )
    print_model(manifest, loaded.spec, options.output)
    return 0


def _stated(text: str) -> Stated:
    """The kind of a matrix's columns, or their names."""
    return "raw" if text == "raw" else "encoded" if text == "encoded" else tuple(text.split(","))


def check(args: Sequence[str]) -> int:
    """Print what a new model would mean for the open options; raise ``OnwardError`` where it breaks too many."""
    options = parse_settings(ModelCheckSettings, "onward models check", CHECK, args)
    checked = check_open_options(
        _address(options.manifest),
        options.spec,
        options.state_dir,
        by=options.by,
        now_ms=time.time_ns() // 1_000_000,
        progress=lambda people: ReadProgress(people, unit="people").add,
        model_bytes=options.max_model_bytes,
    )
    print_check(checked, options.limit, options.as_json)
    _check_limits(checked, options.limit, options.group_limit)
    return 0


def _check_limits(checked: CheckedModel, limit: float, group_limit: float | None) -> None:
    """Raise ``OnwardError`` where too many options break: of all, or of a group."""
    groups = [(f" of {name} {group}", counts) for name, of in checked.groups.items() for group, counts in of.items()]
    limits = [("--limit", limit, "", checked.counts)]
    if group_limit is not None:
        limits += [("--group-limit", group_limit, group, counts) for group, counts in groups]
    for flag, share, group, counts in limits:
        if counts.share > share:
            raise OnwardError(
                f"model {checked.version} would break {counts.broken:,} of {counts.open:,} open options{group} "
                f"({counts.share:.1%}), more than {flag} {share:g}"
            )


def _address(manifest: str) -> str:
    """The address of a manifest: of a path the absolute one."""
    return manifest if "://" in manifest else str(Path(manifest).resolve())


def announce(args: Sequence[str]) -> int:
    """Check the model and publish the model event; return when Kafka has acknowledged it."""
    settings = parse_settings(ModelSettings, "onward models announce", DESCRIPTION, args)
    address = _address(settings.manifest)
    manifest, digest = read_manifest(address)
    program = manifest.program
    check_identity(manifest, program, address)
    spec = load_spec_of(program, settings.spec).spec if settings.spec else None
    codec = None if spec is None else FeatureCodec(spec)
    columns = manifest.columns if codec is None else codec.columns
    with limited_memory(settings.max_model_bytes):
        bundle = load_bundle(address, sha256=digest, columns=columns, codec=codec)
    if spec is not None and (fault := misfit(ModelFacts.from_bundle(bundle), spec)):
        raise UsageError(f"{settings.manifest}: {fault}")
    print(_breaks(settings, address))
    topic, options = connection.topics(settings).models, connection.connection(settings)
    asyncio.run(preflight(options, [topic]))
    announce_event(Model(program, manifest.version, address, digest), SOURCE, topic, options)
    then = "its workers use it for the applications that come after it"
    if spec is None:
        then += "; where it does not fit their spec it becomes a dead letter: --spec asks that before"
    print(f"{topic}: announced {manifest.version} for program {program} ({address}, sha256 {digest}); {then}")
    return 0


def _breaks(settings: ModelSettings, address: str) -> str:
    """How many of a program's open options the model breaks, as far as its ledgers are named."""
    sentence = "how many open options it breaks: not"
    if not settings.state_dir or not settings.spec:
        return f"{sentence} asked; that takes --spec and the workers' --state-dir, or `onward models check`"
    try:
        checked = check_open_options(
            address,
            settings.spec,
            settings.state_dir,
            now_ms=time.time_ns() // 1_000_000,
            progress=lambda people: ReadProgress(people, unit="people").add,
            model_bytes=settings.max_model_bytes,
        )
    except (LedgerError, UsageError) as error:  # what is only told keeps nobody from announcing
        return f"{sentence} known: {error}"
    return broken_in_words(checked)

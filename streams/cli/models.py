"""``onward models``: imports a model from elsewhere, checks a new model, and announces it to a program's workers."""

from __future__ import annotations

import argparse
import asyncio
import math
import time
from collections.abc import Sequence
from pathlib import Path

from ...schemas.encoding import FeatureCodec
from ...schemas.events import Model
from ..errors import LedgerError, OnwardError, UsageError
from ..kafka import connection
from ..kafka.admin.preflight import preflight
from ..programs.assembly import check_identity
from ..programs.bundle.loader import load_bundle, read_manifest
from ..programs.load_limits import LoadLimits, limited_memory
from ..programs.model_fit import ModelFacts, misfit
from ..programs.onnx.matrix import Stated
from ..programs.spec_check import load_program_spec, load_spec_of
from ..programs.training.importing import import_model
from ..replay.model_check import CheckedModel, check_open_options
from ..settings import ModelSettings
from .display.model_check import broken_in_words, print_check
from .display.new_model import print_model, tell
from .display.read_progress import ReadProgress
from .display.reminders import tell_cautions
from .flags.actions import run_action
from .flags.new_model import add_model_flags
from .flags.parsing import CommandParser, parse_settings
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


def run(args: Sequence[str]) -> int:
    """Run the action that the first argument names."""
    return run_action("models", USAGE, {"import": import_file, "check": check, "announce": announce}, args)


def import_file(args: Sequence[str]) -> int:
    """Import a model and print how good it is."""
    parser = CommandParser(prog="onward models import", description=IMPORT)
    parser.add_argument("file", type=Path, metavar="FILE.onnx", help="classifier in ONNX")
    parser.add_argument("--data", required=True, type=Path, metavar="CSV", help="data with features and label")
    add_model_flags(parser, "the order of rows")
    parser.add_argument("--probabilities", metavar="NAME", help="the output that holds them, where several might")
    parser.add_argument(
        "--columns",
        type=_columns,
        metavar="raw|encoded|NAMES",
        help="""what the columns of a model with one matrix hold: values as in the data, or encoded ones, in the order
        of the spec; or the names of raw ones in their order, as income,region:north,region:south (default: found out by
        its splits and the labels)""",
    )
    parser.add_argument(
        "--retrain",
        action="extend",
        nargs="+",
        default=[],
        type=Path,
        metavar="RETRAIN.onnx",
        help="""the same classifier, fitted again on resamples of its data: an even number of files, by which the spec's
        promise is measured""",
    )
    options = parser.parse_args(list(args))
    loaded = load_program_spec(options.spec)
    tell_cautions(loaded.path)
    manifest = import_model(
        options.file,
        options.data,
        loaded,
        options.output,
        seed=options.seed,
        probabilities=options.probabilities,
        columns=options.columns,
        retrains=options.retrain,
        goal_policy=options.goal_policy,
        tell=tell,
    )
    print_model(manifest, loaded.spec, options.output)
    return 0


def _columns(text: str) -> Stated:
    """The kind of a matrix's columns, or their names."""
    return "raw" if text == "raw" else "encoded" if text == "encoded" else tuple(text.split(","))


def check(args: Sequence[str]) -> int:
    """Print what a new model would mean for the open options; raise ``OnwardError`` where it breaks too many."""
    parser = _check_parser()
    options = parser.parse_args(list(args))
    if options.group_limit is not None and not options.by:
        parser.error("--group-limit: say with --by which groups")
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


def _check_parser() -> CommandParser:
    parser = CommandParser(prog="onward models check", description=CHECK)
    parser.add_argument("manifest", metavar="MANIFEST", help="the new model's manifest: a path, or an fsspec address")
    for flag, metavar, text in (
        ("--spec", "FILE", "the program's spec; repeat the flag for those of other programs"),
        (
            "--state-dir",
            "DIR",
            "folder of a worker's ledgers; repeat the flag for every worker that serves the program",
        ),
    ):
        parser.add_argument(flag, action="append", required=True, type=Path, metavar=metavar, help=text)
    parser.add_argument(
        "--by",
        action="append",
        default=[],
        metavar="FEATURE",
        help="count by this feature of the people too, a number by quartiles; repeat the flag for several",
    )
    parser.add_argument(
        "--limit",
        default=BROKEN_LIMIT,
        type=_share,
        metavar="SHARE",
        help="largest share of the open options that may break, 0 to 1 (default: %(default)s)",
    )
    parser.add_argument(
        "--group-limit",
        type=_share,
        metavar="SHARE",
        help="the same for the options of each group of --by (default: no limit)",
    )
    parser.add_argument(
        "--max-model-bytes",
        default=LoadLimits.memory_bytes,
        type=int,
        metavar="BYTES",
        help="memory that loading the model may take (default: %(default)s)",
    )
    parser.add_argument("--json", action="store_true", dest="as_json", help="print one JSON object instead of tables")
    return parser


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


def _share(text: str) -> float:
    """A share from 0 to 1."""
    try:
        share = float(text)
    except ValueError:
        share = math.nan
    if not 0.0 <= share <= 1.0:
        raise argparse.ArgumentTypeError(f"give a share from 0 to 1, such as {BROKEN_LIMIT} (it is {text!r})")
    return share


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
    if spec is not None and (fault := misfit(ModelFacts.of(bundle), spec)):
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
    told = "how many open options it breaks: not"
    if not settings.state_dir or not settings.spec:
        return f"{told} asked; that takes --spec and the workers' --state-dir, or `onward models check`"
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
        return f"{told} known: {error}"
    return broken_in_words(checked)

"""``onward models``: announces a new model of a program to its workers."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence
from pathlib import Path

import msgspec

from ...schemas.encoding import FeatureCodec
from ...schemas.events import Model
from ...schemas.headers import cloud_event_headers
from ...schemas.kinds import ce_type
from ..errors import UsageError
from ..kafka import connection
from ..kafka.admin.preflight import preflight
from ..kafka.client import EventWriter
from ..programs.bundle import load_bundle, read_manifest
from ..programs.manifest import Manifest
from ..programs.program import NO_MARGIN, lacks_margin
from ..programs.spec_check import load_program_spec
from ..settings import ModelSettings
from .flags import parse_settings
from .process.client_logs import quiet_kafka_clients

SOURCE = "onward/models"
USAGE = """usage: onward models announce [FLAGS]

  announce  Tell the workers of a program that it has a new model.

`onward models announce --help` explains the flags."""
DESCRIPTION = """Check a model and announce it on the models topic: the program's workers use it for every application
after that. One that they refuse all the same becomes a dead letter, and they go on with the model they have."""


def run(args: Sequence[str]) -> int:
    """Run the action that the first argument names."""
    if not args or args[0] in ("-h", "--help"):
        print(USAGE)
        return 0
    if args[0] != "announce":
        raise UsageError(f"there is no `onward models {args[0]}`: use announce")
    return announce(parse_settings(ModelSettings, "onward models announce", DESCRIPTION, args[1:]))


def announce(settings: ModelSettings) -> int:
    """Check the model and publish the model event; return when Kafka has acknowledged it."""
    address = settings.manifest if "://" in settings.manifest else str(Path(settings.manifest).resolve())
    manifest, digest = read_manifest(address)
    program = settings.program or manifest.program
    load_bundle(address, sha256=digest, columns=_columns(settings, manifest, program))
    event = Model(program, manifest.version, address, digest)
    now_ms = time.time_ns() // 1_000_000
    # The time is part of the id, so that an earlier model can be announced again.
    headers = cloud_event_headers(f"{program}/model/{now_ms}", SOURCE, ce_type(Model), now_ms)
    topic, options = connection.topics(settings).models, connection.connection(settings)
    asyncio.run(preflight(options, [topic]))
    with quiet_kafka_clients(), EventWriter(options) as writer:
        writer.send(topic, msgspec.json.encode(event), key=program.encode(), headers=headers)
    print(
        f"{topic}: announced {manifest.version} for program {program} ({address}, sha256 {digest}); its workers use it "
        "for the applications that come after it"
    )
    return 0


def _columns(settings: ModelSettings, manifest: Manifest, program: str) -> tuple[str, ...]:
    """The encoded columns of the program: of its spec where one is passed, else those the model was trained for."""
    specs = {loaded.spec.program: loaded.spec for loaded in map(load_program_spec, settings.spec)}
    if program in specs:
        if lacks_margin(manifest, specs[program]):
            raise UsageError(f"{settings.manifest}: {NO_MARGIN.format(manifest.version)}")
        return FeatureCodec(specs[program]).columns
    if specs:
        raise UsageError(f"--spec: none of {', '.join(sorted(specs))} is program {program!r}: give its spec too")
    if program != manifest.program:
        raise UsageError(
            f"--program {program}: model {manifest.version} was trained for {manifest.program}; give --spec FILE of "
            f"{program}, so that their columns can be compared"
        )
    return manifest.columns

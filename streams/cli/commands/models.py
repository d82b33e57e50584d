"""``onward models``: announces a new model of a program to its workers."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence
from pathlib import Path

import msgspec

from ....schemas.events import Model
from ....schemas.headers import TYPES, cloud_event_headers
from ... import connection
from ...errors import UsageError
from ...kafka.client import EventWriter
from ...kafka.reach import reach
from ...models import read_manifest
from ...settings import ModelSettings
from ..flags import parse_settings
from ..silence import silence

SOURCE = "onward/models"
USAGE = """usage: onward models announce [FLAGS]

  announce  Tell the workers of a program that it has a new model.

`onward models announce --help` explains the flags."""
DESCRIPTION = """Announce a model on the models topic: the program's workers use it for every application after that.
One that they refuse becomes a dead letter, and they go on with the model they have."""


def run(args: Sequence[str]) -> int:
    """Announce, by the first argument."""
    if not args or args[0] in ("-h", "--help"):
        print(USAGE)
        return 0
    if args[0] != "announce":
        raise UsageError(f"there is no `onward models {args[0]}`: use announce")
    return announce(parse_settings(ModelSettings, "onward models announce", DESCRIPTION, args[1:]))


def announce(settings: ModelSettings) -> int:
    """Publish the model event; return when Kafka has acknowledged it."""
    address = settings.manifest if "://" in settings.manifest else str(Path(settings.manifest).resolve())
    manifest, digest = read_manifest(address)
    event = Model(settings.program or manifest.program, manifest.version, address, digest)
    now_ms = time.time_ns() // 1_000_000
    # The time is part of the id, so that an earlier model can be announced again.
    headers = cloud_event_headers(f"{event.program}/model/{now_ms}", SOURCE, TYPES[Model], now_ms)
    topic, options = connection.topics(settings).models, connection.connection(settings)
    with silence():
        asyncio.run(reach(options, [topic]))
        with EventWriter(options) as writer:
            writer.send(topic, msgspec.json.encode(event), key=event.program.encode(), headers=headers)
    print(f"{topic}: {event.program} uses model {event.version} from now on ({address}, sha256 {digest})")
    return 0

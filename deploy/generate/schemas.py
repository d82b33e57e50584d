"""The AsyncAPI document and the JSON Schemas, generated from the event structs.

python -m onward.deploy.generate.schemas            # writes schemas/asyncapi.yaml and schemas/json/*.json
python -m onward.deploy.generate.schemas --check    # exit code 1 when a file is not what would be written
"""

from __future__ import annotations

import inspect
import io
import json
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec
from ruamel.yaml import YAML

from ...schemas import headers
from ...schemas.events import (
    Application,
    DeadLetter,
    Decision,
    Journaled,
    Model,
    NoRecourse,
    Outcome,
    Recourse,
    Reward,
    Tick,
)
from ...schemas.spec import ProgramSpec

HERE = Path(__file__).parents[2] / "schemas"
DIALECT = "https://json-schema.org/draft/2020-12/schema"
SCHEMA_FORMAT = "application/schema+json;version=draft-2020-12"
OUTPUT_HEADERS = {
    "onward_position": "The journal offset that caused the event, and the event's number among those it caused.",
    "onward_generation": "Counts the owners that the partition has had; readers may ignore it.",
}

Json = dict[str, Any]


@dataclass(frozen=True)
class Message:
    """An event as a message. ``kinds`` are its structs; more than one make a tagged union. A journal record is no
    CloudEvent itself but an array of ``lines``."""

    name: str
    title: str
    kinds: tuple[type[msgspec.Struct], ...]
    lines: bool = False

    @property
    def ce_type(self) -> str:
        """The CloudEvents type."""
        return headers.TYPES[self.kinds[0]]


@dataclass(frozen=True)
class Channel:
    """A topic. ``action`` is Onward's own part: it receives inputs, sends outputs, and does both with the journal.
    ``headers`` are those that Onward adds to the ones of CloudEvents, with what they say."""

    topic: str
    description: str
    messages: tuple[str, ...]
    actions: tuple[str, ...]
    headers: Mapping[str, str] | None = None


MESSAGES = (
    Message("application", "What a person sent", (Application,)),
    Message("decision", "An external system's answer to an application", (Decision,)),
    Message("outcome", "What happened after a recourse", (Outcome,)),
    Message("model", "A new model version", (Model,)),
    Message("recourse", "A way forward, or why there is none", (Recourse, NoRecourse)),
    Message("reward", "The fate of a recourse", (Reward,)),
    Message("dead-letter", "A record that Onward could not use", (DeadLetter,)),
    Message("tick", "Event time passing without records", (Tick,)),
    Message("journal", "Events in the order in which they are applied", (Journaled,), lines=True),
)
CHANNELS = (
    Channel("applications", "Applications, keyed as the sender likes.", ("application",), ("receive",)),
    Channel("decisions", "Decisions of programs with `decisions: external`.", ("decision",), ("receive",)),
    Channel("outcomes", "Delayed outcomes.", ("outcome",), ("receive",)),
    Channel("models", "New model versions of programs.", ("model",), ("receive",)),
    Channel(
        "journal",
        "Everything that came in, in the one order that state is computed from. Internal.",
        ("journal",),
        ("send", "receive"),
    ),
    Channel("recourse", "One answer to each rejected application.", ("recourse",), ("send",), OUTPUT_HEADERS),
    Channel("rewards", "The fate of every recourse and outcome.", ("reward",), ("send",), OUTPUT_HEADERS),
    Channel("dead-letters", "Records that could not be used.", ("dead-letter",), ("send",), OUTPUT_HEADERS),
)


def documents() -> dict[Path, str]:
    """Every generated file, relative to ``schemas/``, with its text."""
    texts = {Path("asyncapi.yaml"): _yaml(asyncapi())}
    for message in MESSAGES:
        schema = _of_lines(message) if message.lines else json_schema(message.kinds, message.title)
        texts[Path("json", f"{message.name}.json")] = _json(schema)
    texts[Path("json", "program-spec.json")] = _json(json_schema((ProgramSpec,), "A program spec"))
    return texts


def json_schema(kinds: Sequence[type[msgspec.Struct]], title: str) -> Json:
    """The JSON Schema (2020-12) of one struct, or of a union of several."""
    schemas, definitions = msgspec.json.schema_components(kinds, ref_template="#/$defs/{name}")
    root: Json = schemas[0] if len(kinds) == 1 else {"oneOf": list(schemas)}
    document = {"$schema": DIALECT, "title": title, **root, "$defs": dict(sorted(definitions.items()))}
    plain: Json = json.loads(json.dumps(_without_indents(document)))
    return plain


def _of_lines(message: Message) -> Json:
    line = json_schema(message.kinds, message.title)
    return {"$schema": DIALECT, "title": message.title, "type": "array", "items": line["$defs"]["Journaled"]}


def asyncapi() -> Json:
    """The AsyncAPI 3.0 document of the topics, as Onward sees them."""
    return {
        "asyncapi": "3.0.0",
        "info": {
            "title": "Onward",
            "version": "1.0.0",
            "description": "Events of the Onward recourse pipeline. CloudEvents 1.0 in binary mode over Kafka: "
            "attributes are record headers, the record's value is the JSON of the event. "
            "An installation may put a prefix before every topic name.",
        },
        "defaultContentType": "application/json",
        "channels": {channel.topic: _channel(channel) for channel in CHANNELS},
        "operations": {
            f"{action}-{channel.topic}": _operation(channel, action)
            for channel in CHANNELS
            for action in channel.actions
        },
        "components": {"messages": {message.name: _message(message, added) for message, added in _variants()}},
    }


def _variants() -> list[tuple[Message, Mapping[str, str] | None]]:
    """Each message that travels by itself, and the headers that Onward adds to it."""
    added = {name: channel.headers for channel in CHANNELS for name in channel.messages}
    return [(message, added[message.name]) for message in MESSAGES if message.name in added]


def _channel(channel: Channel) -> Json:
    return {
        "address": channel.topic,
        "description": channel.description,
        "messages": {name: {"$ref": f"#/components/messages/{name}"} for name in channel.messages},
    }


def _operation(channel: Channel, action: str) -> Json:
    return {
        "action": action,
        "channel": {"$ref": f"#/channels/{channel.topic}"},
        "messages": [{"$ref": f"#/channels/{channel.topic}/messages/{name}"} for name in channel.messages],
    }


def _message(message: Message, added: Mapping[str, str] | None) -> Json:
    payload = {"schemaFormat": SCHEMA_FORMAT, "schema": {"$ref": f"./json/{message.name}.json"}}
    if message.lines:
        return {
            "name": f"onward.{message.name}.v1",
            "title": message.title,
            "contentType": "application/json",
            "payload": payload,
        }
    return {
        "name": message.ce_type,
        "title": message.title,
        "contentType": "application/json",
        "headers": _header_schema(message, added),
        "payload": payload,
    }


def _header_schema(message: Message, added: Mapping[str, str] | None) -> Json:
    """Senders must give ``ce_id``; what Onward publishes has every header."""
    identity = {"type": "string", "minLength": 1, "maxLength": headers.MAX_ID_CHARACTERS}
    properties: dict[str, Mapping[str, Any]] = {
        headers.CE_SPECVERSION: {"type": "string", "const": headers.SPEC_VERSION.decode()},
        headers.CE_ID: {**identity, "description": "The idempotency key: a repeated id is a repeated event."},
        headers.CE_SOURCE: {"type": "string", "minLength": 1, "maxLength": headers.MAX_NAME_CHARACTERS},
        headers.CE_TYPE: {"type": "string", "const": message.ce_type},
        headers.CE_TIME: {"type": "string", "format": "date-time", "description": "Event time."},
        headers.CONTENT_TYPE: {"type": "string"},
    }
    if added is None:
        return {"type": "object", "properties": properties, "required": [headers.CE_ID]}
    for name, description in added.items():
        properties[name] = {"type": "string", "description": description}
    return {"type": "object", "properties": properties, "required": list(properties)}


def _without_indents(value: Any) -> Any:
    """Descriptions are docstrings and carry the indents of their source."""
    if isinstance(value, dict):
        cleaned = {key: _without_indents(item) for key, item in value.items()}
        if isinstance(value.get("description"), str):
            cleaned["description"] = inspect.cleandoc(value["description"])
        return cleaned
    return [_without_indents(item) for item in value] if isinstance(value, list | tuple) else value


def _json(document: Json) -> str:
    return json.dumps(document, indent=2, ensure_ascii=False) + "\n"


def _yaml(document: Json) -> str:
    yaml = YAML()
    yaml.width = 120
    yaml.representer.ignore_aliases = lambda _: True
    stream = io.StringIO()
    stream.write("# Generated by: python -m onward.deploy.generate.schemas\n")
    yaml.dump(document, stream)
    return stream.getvalue()


def main(arguments: Sequence[str]) -> int:
    """Write the files, or with ``--check`` only compare them."""
    if list(arguments) not in ([], ["--check"]):
        print("usage: python -m onward.deploy.generate.schemas [--check]", file=sys.stderr)
        return 2
    stale = {name: text for name, text in documents().items() if not _is_current(HERE / name, text)}
    for name, text in stale.items():
        if arguments:
            print(f"{HERE / name} is not current: run python -m onward.deploy.generate.schemas", file=sys.stderr)
        else:
            (HERE / name).parent.mkdir(exist_ok=True)
            (HERE / name).write_text(text, encoding="utf-8")
            print(f"wrote {HERE / name}")
    return 1 if stale and arguments else 0


def _is_current(file: Path, text: str) -> bool:
    return file.is_file() and file.read_text(encoding="utf-8") == text


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

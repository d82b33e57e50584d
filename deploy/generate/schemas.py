"""The AsyncAPI document and the JSON Schemas, generated from the event structs.

python -m onward.deploy.generate.schemas            # writes schemas/asyncapi.yaml and schemas/json/*.json
python -m onward.deploy.generate.schemas --check    # exit code 1 when a file is not what would be written
"""

from __future__ import annotations

import inspect
import io
import json
import sys
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec
from ruamel.yaml import YAML

from ...schemas import headers
from ...schemas.events import Journaled
from ...schemas.kinds import Kind, kinds
from ...schemas.spec import ProgramSpec
from .method_parameters import method_parameters

HERE = Path(__file__).parents[2] / "schemas"
DIALECT = "https://json-schema.org/draft/2020-12/schema"
SCHEMA_FORMAT = "application/schema+json;version=draft-2020-12"
OUTPUT_HEADERS = {
    "onward_position": "The journal offset that caused the event, and the event's number among those it caused.",
    "onward_generation": "Counts the owners that the partition has had; readers may ignore it.",
    "onward_engine": "The engine's version, and the journal offset from which on it folds; readers may ignore it.",
}
JOURNAL = "Everything that came in, in the one order that state is computed from. Internal."
JOURNAL_TITLE = "Events in the order in which they are applied"

Json = dict[str, Any]


def documents() -> dict[Path, str]:
    """Every generated file, relative to ``schemas/``, with its text."""
    texts = {Path("asyncapi.yaml"): _yaml(asyncapi())}
    for kind in kinds:
        texts[Path("json", f"{kind.name}.json")] = _json(json_schema(kind.structs, kind.title))
    texts[Path("json", "journal.json")] = _json(_journal_schema())
    texts[Path("json", "program-spec.json")] = _json(_with_parameters(json_schema((ProgramSpec,), "A program spec")))
    return texts


def json_schema(kinds: Sequence[type[msgspec.Struct]], title: str) -> Json:
    """The JSON Schema (2020-12) of one struct, or of a union of several."""
    schemas, definitions = msgspec.json.schema_components(kinds, ref_template="#/$defs/{name}")
    root: Json = schemas[0] if len(kinds) == 1 else {"oneOf": list(schemas)}
    document = {"$schema": DIALECT, "title": title, **root, "$defs": dict(sorted(definitions.items()))}
    plain: Json = json.loads(json.dumps(_without_indents(document)))
    return plain


def _with_parameters(spec: Json) -> Json:
    """The schema of a spec with what its methods take by name."""
    structs = {"policy": spec["$defs"]["Policy"], "promise": spec["$defs"]["PromiseTerms"]}
    for (field, parameter, meaning), methods in method_parameters().items():
        first, *between, name = field.split(".")
        place = structs[first]
        for part in between:
            place = place["properties"][part]
        kind = place.get("additionalProperties") or {}
        described = place.setdefault("properties", {}).setdefault(name, {**kind})
        text = f"{', '.join(methods)}: {meaning} Give {parameter}; {parameter.default} by default."
        described["description"] = " ".join(filter(None, (described.get("description"), text)))
    return spec


def _journal_schema() -> Json:
    line = json_schema((Journaled,), JOURNAL_TITLE)
    return {"$schema": DIALECT, "title": JOURNAL_TITLE, "type": "array", "items": line["$defs"]["Journaled"]}


def asyncapi() -> Json:
    """The AsyncAPI 3.0 document of the topics, as Onward sees them."""
    inputs, outputs = kinds.of_flow("input"), kinds.of_flow("output")
    channels = {
        **_channels(inputs),
        "journal": _channel("journal", JOURNAL, ["journal"]),
        **_channels(outputs),
    }
    operations = [
        *(("receive", topic, names) for topic, names in _by_topic(kinds.ingested).items()),
        *(("send", "journal", ["journal"]), ("receive", "journal", ["journal"])),
        *(("send", topic, names) for topic, names in _by_topic(outputs).items()),
    ]
    messages = {kind.name: _message(kind) for kind in (*inputs, *outputs)}
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
        "channels": channels,
        "operations": {f"{action}-{topic}": _operation(action, topic, names) for action, topic, names in operations},
        "components": {"messages": {**messages, "journal": _journal_message()}},
    }


def _by_topic(of: Iterable[Kind]) -> dict[str, list[str]]:
    """The names of kinds by their topic: outputs may share one."""
    names: dict[str, list[str]] = {}
    for kind in of:
        names.setdefault(kind.topic or "", []).append(kind.name)
    return names


def _channels(of: Sequence[Kind]) -> dict[str, Json]:
    described = {kind.topic or "": kind.description for kind in of}
    return {topic: _channel(topic, described[topic], names) for topic, names in _by_topic(of).items()}


def _channel(topic: str, description: str, messages: Iterable[str]) -> Json:
    return {
        "address": topic,
        "description": description,
        "messages": {message: {"$ref": f"#/components/messages/{message}"} for message in messages},
    }


def _operation(action: str, topic: str, messages: Iterable[str]) -> Json:
    return {
        "action": action,
        "channel": {"$ref": f"#/channels/{topic}"},
        "messages": [{"$ref": f"#/channels/{topic}/messages/{message}"} for message in messages],
    }


def _payload(name: str) -> Json:
    return {"schemaFormat": SCHEMA_FORMAT, "schema": {"$ref": f"./json/{name}.json"}}


def _message(kind: Kind) -> Json:
    return {
        "name": kind.ce_type,
        "title": kind.title,
        "contentType": "application/json",
        "headers": _header_schema(kind),
        "payload": _payload(kind.name),
    }


def _journal_message() -> Json:
    """A journal record is no CloudEvent itself but an array of lines."""
    return {
        "name": "onward.journal.v1",
        "title": JOURNAL_TITLE,
        "contentType": "application/json",
        "payload": _payload("journal"),
    }


def _header_schema(kind: Kind) -> Json:
    """Senders must give ``ce_id``; what Onward publishes has every header."""
    identity = {"type": "string", "minLength": 1, "maxLength": headers.MAX_ID_CHARACTERS}
    properties: dict[str, Mapping[str, Any]] = {
        headers.CE_SPECVERSION: {"type": "string", "const": headers.SPEC_VERSION.decode()},
        headers.CE_ID: {**identity, "description": "The idempotency key: a repeated id is a repeated event."},
        headers.CE_SOURCE: {"type": "string", "minLength": 1, "maxLength": headers.MAX_NAME_CHARACTERS},
        headers.CE_TYPE: {"type": "string", "const": kind.ce_type},
        headers.CE_TIME: {"type": "string", "format": "date-time", "description": "Event time."},
        headers.CONTENT_TYPE: {"type": "string"},
    }
    if kind.flow == "input":
        return {"type": "object", "properties": properties, "required": [headers.CE_ID]}
    for name, description in OUTPUT_HEADERS.items():
        properties[name] = {"type": "string", "description": description}
    return {"type": "object", "properties": properties, "required": list(properties)}


def _without_indents(value: Any) -> Any:
    """Descriptions are docstrings: they carry the indents of their source, and examples in Python."""
    if isinstance(value, dict):
        cleaned = {key: _without_indents(item) for key, item in value.items()}
        if isinstance(value.get("description"), str):
            cleaned["description"] = inspect.cleandoc(value["description"]).partition("\n\nExamples\n")[0]
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

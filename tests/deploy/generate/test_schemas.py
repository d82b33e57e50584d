import json
from functools import cache
from pathlib import Path
from typing import Any

import jsonschema
import msgspec
import pytest
from referencing import Registry, Resource
from ruamel.yaml import YAML

from onward.deploy.generate.schemas import HERE, documents, main
from onward.schemas import events
from onward.schemas.headers import cloud_event_headers
from onward.schemas.kinds import ce_type, kinds
from onward.streams.topics import Topics
from onward.tests.support.event_examples import EXAMPLES


def validator(document: dict[str, object]) -> jsonschema.Draft202012Validator:
    jsonschema.Draft202012Validator.check_schema(document)
    return jsonschema.Draft202012Validator(document)


def schema_of(kind: type) -> dict[str, object]:
    name = kinds.by_struct[kind].name
    return json.loads((HERE / "json" / f"{name}.json").read_text())


@cache
def _asyncapi() -> dict[str, Any]:
    return dict(YAML(typ="safe", pure=True).load((HERE / "asyncapi.yaml").read_text()))


def target(ref: str) -> object:
    file, _, pointer = ref.partition("#")
    if file:
        return json.loads((HERE / file).read_text())
    node: Any = _asyncapi()
    for part in pointer.strip("/").split("/"):
        node = node[part]
    return node


def refs(node: object) -> list[str]:
    if isinstance(node, dict):
        own = [node["$ref"]] if "$ref" in node else []
        return own + [ref for value in node.values() for ref in refs(value)]
    return [ref for item in node for ref in refs(item)] if isinstance(node, list) else []


def test_the_files_are_current():
    found = {file.relative_to(HERE) for file in [*HERE.glob("*.yaml"), *HERE.glob("json/*")]}
    current = documents()
    assert found == set(current)
    for name, text in current.items():
        assert (HERE / name).read_text() == text, "run python -m onward.deploy.generate.schemas"


def test_check_finds_a_stale_file(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr("onward.deploy.generate.schemas.HERE", tmp_path)
    assert main(["--check"]) == 1
    assert "asyncapi.yaml is not current" in capsys.readouterr().err
    assert main([]) == 0
    assert main(["--check"]) == 0
    (tmp_path / "json" / "tick.json").write_text("{}")
    assert main(["--check"]) == 1
    assert main(["--help"]) == 2


def test_the_channels_are_the_topics():
    topics, channels = Topics(), _asyncapi()["channels"]
    assert _asyncapi()["asyncapi"] == "3.0.0"
    assert list(channels) == [*topics.inputs, topics.journal, *topics.outputs]
    assert all(channel["address"] == name for name, channel in channels.items())
    actions = {name: {op["action"] for op in operations_on(name)} for name in channels}
    assert all(actions[name] == {"receive"} for name in topics.inputs)
    assert all(actions[name] == {"send"} for name in topics.outputs if name not in topics.ingested)
    assert actions[topics.increments] == {"send", "receive"}
    assert actions[topics.journal] == {"send", "receive"}


def operations_on(channel: str) -> list[dict[str, object]]:
    return [op for op in _asyncapi()["operations"].values() if op["channel"]["$ref"] == f"#/channels/{channel}"]


def test_every_reference_resolves_and_operations_use_messages_of_their_channel():
    assert refs(_asyncapi())
    for ref in refs(_asyncapi()):
        assert target(ref)
    for operation in _asyncapi()["operations"].values():
        channel = operation["channel"]["$ref"]
        assert target(channel)
        assert all(message["$ref"].startswith(f"{channel}/messages/") for message in operation["messages"])
    types = {message["name"] for message in _asyncapi()["components"]["messages"].values()}
    assert types == {kind.ce_type for kind in kinds if kind.topic is not None} | {"onward.journal.v1"}


@pytest.mark.parametrize("event", EXAMPLES, ids=lambda event: type(event).__name__)
def test_events_fit_their_schema_and_damaged_ones_do_not(event):
    check = validator(schema_of(type(event)))
    body = json.loads(msgspec.json.encode(event))
    check.validate(body)
    assert not check.is_valid(None)
    required = next(iter(body))
    assert not check.is_valid({key: value for key, value in body.items() if key != required})


def test_every_event_has_an_example():
    assert {type(event) for event in EXAMPLES} == {struct for kind in kinds for struct in kind.structs}


def test_published_headers_fit_their_schema():
    headers = cloud_event_headers("id", "onward", ce_type(events.Recourse), 0)
    given = {name: value.decode() for name, value in headers} | {
        "onward_position": "1.0",
        "onward_generation": "1",
        "onward_engine": "18.0",
    }
    check = validator(_asyncapi()["components"]["messages"]["recourse"]["headers"])
    check.validate(given)
    for name in given:
        assert not check.is_valid({key: value for key, value in given.items() if key != name})


@pytest.mark.parametrize("name", ["credit", "diabetes", "compas"])
def test_specs_fit_their_schema(name):
    check = validator(json.loads((HERE / "json" / "program-spec.json").read_text()))
    file = Path(__file__).parents[3] / "environments" / "specs" / f"{name}.yaml"
    spec = YAML(typ="safe", pure=True).load(file.read_text())
    check.validate(spec)
    assert not check.is_valid({**spec, "labl": 1})


def test_payloads_can_be_validated_through_the_asyncapi_document():
    files = {f"./json/{file.name}": json.loads(file.read_text()) for file in (HERE / "json").iterdir()}
    registry = Registry().with_resources((name, Resource.from_contents(text)) for name, text in files.items())
    payload = _asyncapi()["components"]["messages"]["application"]["payload"]["schema"]
    check = jsonschema.Draft202012Validator(payload, registry=registry)
    check.validate(json.loads(msgspec.json.encode(EXAMPLES[0])))
    assert not check.is_valid({"program": "Loan!"})

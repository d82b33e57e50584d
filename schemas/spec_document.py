"""The document of a spec: what it means, whatever its file looks like.

Comments, the order of keys, formatting and spelled-out defaults do not count. The address of the first model is left
out: it says where a file lies. The model itself is known by the hash of its manifest.

    sha256_of(spec)                              # the spec's identity, in every answer
    spec_of(document(spec), manifest) == spec
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from functools import cache
from typing import Any

import msgspec
from msgspec import UNSET, Raw, Struct
from msgspec.structs import FieldInfo

from .spec import DEFAULT_DEADLINE, LABEL_PRIOR, ProgramSpec

Document = dict[str, Any]

_encode = msgspec.json.Encoder(order="deterministic").encode
BEFORE_OBJECTIVES = "cost"
"""What options were compared by before a spec could say it."""
LARGEST_EXACT = 2.0**53
"""Below it a float that is whole is the same number as the integer."""


def document(spec: ProgramSpec) -> bytes:
    """The document, as JSON: every field with its value but those that say nothing; equal for specs of one meaning."""
    fields: Document = _plain(spec)
    del fields["model"]["manifest"]
    for feature in fields["features"]:
        if not feature["not_given"]:
            del feature["not_given"]
    if not spec.label.not_given:
        del fields["label"]["not_given"]
    policy = fields["policy"]
    # Specs of earlier versions meant this without saying it, and keep their hashes.
    if policy["objective"] == BEFORE_OBJECTIVES:
        del policy["objective"]
    if policy["improvement"] == LABEL_PRIOR:
        del policy["improvement"]
    if spec.elicitation is not None and spec.elicitation.deadline == DEFAULT_DEADLINE:
        del fields["elicitation"]["deadline"]
    for name in ("instances", "effects", "computed"):
        if not fields[name]:
            del fields[name]
    if spec.words is not None:
        fields["words"] = _plain(msgspec.to_builtins(spec.words))
    for parameters in ("generator_parameters", "cost_parameters"):
        if not policy[parameters]:
            del policy[parameters]
    return _encode(fields)


def sha256_of(spec: ProgramSpec) -> str:
    """The sha256 (hex) of a spec's document."""
    return hashlib.sha256(document(spec)).hexdigest()


def spec_of(data: bytes | Raw, manifest: str) -> ProgramSpec:
    """The spec of a document, whose first model has the address ``manifest``.

    Raise ``msgspec.MsgspecError`` for one that this version cannot read.
    """
    fields: Document = msgspec.json.decode(data, type=Document)
    model, policy = fields.get("model"), fields.get("policy")
    if isinstance(model, dict):
        fields = {**fields, "model": {**model, "manifest": manifest}}
    if isinstance(policy, dict):
        fields = {**fields, "policy": {"objective": BEFORE_OBJECTIVES, **policy}}
    return msgspec.convert(fields, ProgramSpec)


def _plain(value: Any) -> Any:
    if isinstance(value, Struct):
        fields = ((field, getattr(value, field.name)) for field in _fields(type(value)))
        return {field.encode_name: _plain(content) for field, content in fields if not _says_nothing(field, content)}
    if isinstance(value, Mapping):
        return {key: _plain(content) for key, content in value.items()}
    if isinstance(value, tuple):
        return [_plain(content) for content in value]
    if isinstance(value, float) and value.is_integer() and abs(value) < LARGEST_EXACT:
        return int(value)
    return msgspec.to_builtins(value)


@cache
def _fields(struct: type[Struct]) -> tuple[FieldInfo, ...]:
    return msgspec.structs.fields(struct)


def _says_nothing(field: FieldInfo, content: Any) -> bool:
    """Whether a field is absent or false, as it is by default. So a field that a later version adds changes no hash."""
    return content is field.default and (content is None or content is False or content is UNSET)

"""Kinds of values that settings have."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from pydantic import BeforeValidator, Field
from pydantic.fields import FieldInfo
from pydantic_settings import CliPositionalArg, NoDecode


@dataclass(frozen=True)
class Metavar:
    """What stands for a value in help, where its type's own word would say less: ``FILE``."""

    text: str


def is_positional(field: FieldInfo) -> bool:
    """Whether a setting is an argument without a flag."""
    return not {*field.metadata}.isdisjoint(CliPositionalArg.__metadata__)


COMMA = "\x1f"
"""Stands for the comma in a part of a list that is not to be split."""


def _split(value: object) -> object:
    if isinstance(value, str):
        return tuple(part.strip().replace(COMMA, ",") for part in value.split(",") if part.strip())
    return value


def upper(value: object) -> object:
    """A value whatever its letters' case."""
    return value.upper() if isinstance(value, str) else value


Names = Annotated[tuple[str, ...], NoDecode, BeforeValidator(_split)]
Paths = Annotated[tuple[Path, ...], NoDecode, BeforeValidator(_split)]
File = Annotated[Path, Metavar("FILE")]
Folder = Annotated[Path, Metavar("DIR")]
Csv = Annotated[Path, Metavar("CSV")]
Json = Annotated[bool, Field(validation_alias="json", description="Print one JSON object instead of text.")]
ModelBytes = Annotated[
    int,
    Field(ge=1 << 24, le=1 << 40, description="Memory that loading a model may take; one that takes more is refused."),
]
WebHost = Annotated[
    str, Field(description="Address to serve them on; with 0.0.0.0 every machine that reaches this one can read them.")
]

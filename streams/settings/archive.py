"""Settings of an archive of the journal."""

from __future__ import annotations

from typing import Annotated, Self

from pydantic import Field, model_validator

from .base import BrokerSettings

ArchiveKeyCommand = Annotated[
    str | None,
    Field(
        min_length=1,
        description="Command that is given a month, such as 2026-10, and prints the key that seals what the archive "
        "has of it: 32 bytes in base64; the archive is not sealed when absent.",
    ),
]


def check_archive(archive: str | None, key_command: str | None) -> None:
    """Raise ``ValueError`` where keys are given, and no archive."""
    if archive is None and key_command is not None:
        raise ValueError("archive_key_command needs archive: nothing else is sealed")


class ArchiveSettings(BrokerSettings):
    """Settings of commands that read what was cut of the journal."""

    archive: str | None = Field(
        None, min_length=1, description="The workers' --archive, which has what they have cut of the journal."
    )
    archive_key_command: ArchiveKeyCommand = None

    @model_validator(mode="after")
    def _keys_of_an_archive(self) -> Self:
        check_archive(self.archive, self.archive_key_command)
        return self

"""Settings of the commands that play a simulated world."""

from __future__ import annotations

from pathlib import Path

from pydantic import Field

from .base import BrokerSettings
from .fields import Names


class WorldSettings(BrokerSettings):
    """A simulated world, and the policies that serve it side by side."""

    world: str = Field("people", min_length=1, description="The world that is played: one of those above.")
    rounds: int = Field(60, ge=1, le=1_000_000, description="Rounds of the competition.")
    horizon: int = Field(1, ge=1, le=1000, description="Rounds of the competition in which rejected people come back.")
    coverage: float = Field(
        0.95, gt=0, lt=1, description="Share of those who reach their target score in the competition that is to win."
    )
    brokers: Names = Field((), description="Kafka brokers, HOST:PORT, comma separated.")
    seed: int = Field(0, ge=0, le=1_000_000_000, description="Another seed is another world: split, people, chance.")
    data: Path | None = Field(None, description="CSV of labelled people; generated people when absent.")
    spec: Path | None = Field(None, description="Program spec of that CSV; the packaged one of its name when absent.")
    policies: Names = Field(
        ("protoar", "linucb"),
        min_length=1,
        description="Choices, one program each; that of --spec serves beside them.",
    )
    approved_share: float = Field(0.1, ge=0, le=1, description="Share of applications that the model approves.")

    people: int = Field(1500, ge=0, description="Applications of every program.")

"""Settings of the commands that make a model: ``onward train`` and ``onward models import``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from pydantic import BeforeValidator, Field

from ...programs.training.seeding import MOST_SEED
from ...settings import FlagSettings
from ...settings.fields import File, Folder, Metavar


def _seed(seed: object) -> int:
    if str(seed).isdecimal() and int(str(seed)) <= MOST_SEED:
        return int(str(seed))
    raise ValueError(f"give a whole number from 0 to {MOST_SEED}")


Seed = Annotated[int, BeforeValidator(_seed)]


class NewModelSettings(FlagSettings):
    """The spec, the new folder, the seed, and the goal's policy."""

    spec: File = Field(description="Program spec (YAML).")
    output: Folder = Field(description="New folder for the model.")
    seed: Seed = Field(0, description="Seed of split and training.")
    goal_policy: Annotated[Path | None, Metavar("FILE.npz")] = Field(
        None,
        description="Learned policy of `goal: sac`, which `onward train-rl goal` writes; it is kept with the model.",
    )

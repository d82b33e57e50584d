"""Flags of the commands that make a model: ``onward train`` and ``onward models import``."""

from __future__ import annotations

import argparse
from pathlib import Path

from ...programs.training.seeding import MOST_SEED
from .parsing import CommandParser


def add_model_flags(parser: CommandParser, seed: str) -> None:
    """Add the flags of spec, new folder, seed and goal policy; ``seed`` says what it decides."""
    parser.add_argument("--spec", required=True, type=Path, metavar="FILE", help="program spec (YAML)")
    parser.add_argument("--output", required=True, type=Path, metavar="DIR", help="new folder for the model")
    parser.add_argument("--seed", default=0, type=_seed, metavar="N", help=f"seed of {seed} (default: 0)")
    parser.add_argument(
        "--goal-policy",
        type=Path,
        metavar="FILE.npz",
        help="learned policy of `goal: sac`, which `onward train-rl goal` writes; it is kept with the model",
    )


def _seed(text: str) -> int:
    if text.isdecimal() and int(text) <= MOST_SEED:
        return int(text)
    raise argparse.ArgumentTypeError(f"give a whole number from 0 to {MOST_SEED} (it is {text!r})")

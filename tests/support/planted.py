"""Data with faults that nobody should be told by, and the same kind of data without any."""

from __future__ import annotations

import csv
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

ROWS = 600
JOBS = ["clerk", "cook", "nurse"]
FIRST_NAMES = [f"Name{chr(97 + number)}" for number in range(24)]
POLICY = """\
label: {name: ok}
model: {manifest: model/manifest.json}
policy: {least_help: 0.5, least_gain: 0.05, overshoot: limit}
"""

CLEAN = f"""\
program: clean
features:
  - {{name: income, type: integer, bounds: [0, 60000], step: 10, mutable: up, max_change: 50%}}
  - {{name: used, type: continuous, bounds: [0, 1], mutable: down}}
  - {{name: visits, type: integer, bounds: [0, 30], mutable: none}}
  - {{name: job, type: categorical, categories: [{", ".join(JOBS)}], mutable: none}}
{POLICY.replace("least_help", "margin: 0.1, least_help")}"""
AFTERWARDS = f"""\
program: afterwards
features:
  - {{name: case, type: integer, bounds: [7000, 8800], mutable: none}}
  - {{name: income, type: integer, bounds: [0, 60000], step: 10, mutable: up}}
  - {{name: visits, type: integer, bounds: [0, 999], mutable: down}}
  - {{name: buyer, type: categorical, categories: ["0", "1", "2"], mutable: any}}
  - {{name: first, type: categorical, categories: [{", ".join(FIRST_NAMES)}], mutable: none}}
{POLICY}"""
COPIES = f"""\
program: copies
features:
  - {{name: internal_rank, type: integer, bounds: [0, 1000], mutable: none}}
  - {{name: part_paid, type: integer, bounds: [0, 3000], missing: 0, mutable: none}}
  - {{name: income, type: integer, bounds: [0, 60000], step: 10, mutable: up}}
{POLICY}"""
PARTS = """\
program: parts
features:
  - {name: card_debt, type: integer, bounds: [0, 60000], mutable: down}
  - {name: total_debt, type: integer, bounds: [0, 90000], mutable: none}
  - {name: savings, type: integer, bounds: [0, 99000], mutable: up}
  - {name: used, type: continuous, bounds: [0, 1], mutable: up}
label: {name: ok}
model: {manifest: model/manifest.json}
policy: {objective: cost, margin: 0}
"""


def write_planted(folder: Path) -> Mapping[str, Path]:
    """Write the four programs, each with its data beside it; the specs by name."""
    random = np.random.default_rng(7)

    def noise(size: float) -> NDArray[np.float64]:
        return random.normal(scale=size, size=ROWS)

    quality = noise(1.0)
    good = quality + noise(0.8) > -0.3
    income = np.round(np.exp(8.0 + 0.4 * quality + noise(0.3)), -1).astype(int)
    used = np.round(1 / (1 + np.exp(quality + noise(0.6))), 3)
    visits = random.poisson(np.exp(0.3 - 0.6 * quality))
    card, other = (np.round(np.exp(6 + slope * quality + noise(0.6))).astype(int) for slope in (-0.6, 0.0))
    collected = np.round(np.where(good, 1000 + noise(50), 300 + noise(80))).astype(int)
    tables: Mapping[str, Mapping[str, Sequence[object] | NDArray[Any]]] = {
        CLEAN: {"income": income, "used": used, "visits": visits, "job": random.choice(JOBS, ROWS)},
        AFTERWARDS: {
            "case": random.permutation(3 * ROWS)[:ROWS] + 7000,
            "income": income,
            "visits": np.where(random.random(ROWS) < 0.03, 999, visits),
            "buyer": np.where(good, random.choice(["0", "1", "2"], ROWS), "0"),
            "first": random.choice(FIRST_NAMES, ROWS),
        },
        COPIES: {
            "internal_rank": np.round(np.where(good, 600, 420) + noise(65)).astype(int),
            "collected": collected,
            # The same amount in another unit, of too few rows to rank them alone.
            "part_paid": [2 * paid if known else "" for paid, known in zip(collected, noise(1.0) > 0.9, strict=True)],
            "income": income,
        },
        PARTS: {
            "card_debt": card,
            "total_debt": card + other,
            "savings": np.round(np.exp(6 + 0.9 * quality + noise(0.3))).astype(int),
            "used": np.round(1 / (1 + np.exp(quality + noise(3.0))), 3),
        },
    }  # fmt: skip
    specs = {}
    for spec, columns in tables.items():
        name = spec.split()[1]
        specs[name] = folder / name / "spec.yaml"
        specs[name].parent.mkdir()
        specs[name].write_text(spec)
        with data_of(specs[name]).open("w", newline="") as stream:
            writer = csv.writer(stream)
            writer.writerow([*columns, "ok"])
            writer.writerows(zip(*columns.values(), good.astype(int), strict=True))
    return specs


def data_of(spec: Path) -> Path:
    """The data of one of these programs."""
    return spec.with_name("data.csv")

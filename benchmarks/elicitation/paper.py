"""Figures that the paper prints."""

from __future__ import annotations

from collections.abc import Mapping

Printed = tuple[float, float, float]
"""Mean validity, cost and length over ten runs."""

MEASURES = ("validity", "cost", "length")

COMPETITORS: Mapping[str, Mapping[str, Mapping[str, Printed | None]]] = {
    "adult": {
        "all": {
            "FARE": (0.90, 285.63, 3.45),
            "CSCF": (0.78, 154.28, 2.53),
            "EFARE": (0.76, 306.11, 3.54),
            "RL": (0.76, 283.31, 3.36),
            "MCTS": (0.44, 445.65, 4.60),
            "FACE": (0.15, 397.49, 3.76),
            "PEAR NL": (1.00, 142.23, 2.84),
            "PEAR L": (1.00, 146.54, 2.84),
        },
        "hard": {
            "FARE": (0.71, 438.97, 4.54),
            "EFARE": (0.55, 454.05, 4.52),
            "RL": (0.55, 433.64, 4.33),
            "CSCF": (0.25, 382.84, 3.70),
            "MCTS": (0.21, 599.20, 5.53),
            "FACE": (0.00, 448.72, 5.20),
            "PEAR NL": (0.99, 296.37, 3.35),
            "PEAR L": (0.99, 301.13, 3.34),
        },
    },
    "givemecredit": {
        "all": {
            "FARE": (0.86, 161.77, 3.27),
            "CSCF": (0.57, 100.69, 2.51),
            "EFARE": (0.67, 155.92, 3.18),
            "RL": (0.12, 59.66, 2.00),
            "MCTS": (0.70, 214.33, 4.09),
            "FACE": (0.24, 327.18, 5.97),
            "PEAR NL": (0.89, 96.04, 2.79),
            "PEAR L": (0.89, 100.19, 2.85),
        },
        "hard": {
            "FARE": (0.47, 319.46, 4.97),
            "EFARE": (0.22, 371.58, 5.31),
            "RL": None,
            "CSCF": (0.13, 190.81, 3.36),
            "MCTS": (0.40, 353.75, 5.43),
            "FACE": (0.20, 455.20, 7.09),
            "PEAR NL": (0.58, 251.60, 4.59),
            "PEAR L": (0.58, 262.23, 4.64),
        },
    },
}
"""Table 1, by data set, users and method; None where no user was helped."""

CORRUPTED: Mapping[str, Mapping[str, Mapping[float, Printed]]] = {
    "adult": {
        "all": {
            0.15: (1.00, 165.11, 2.79),
            0.25: (1.00, 162.05, 2.89),
            0.5: (1.00, 175.54, 2.82),
            1.0: (0.99, 172.51, 2.96),
        },
        "hard": {
            0.15: (1.00, 308.22, 3.47),
            0.25: (1.00, 305.62, 3.32),
            0.5: (1.00, 314.36, 3.38),
            1.0: (0.99, 313.51, 3.69),
        },
    },
    "givemecredit": {
        "all": {
            0.15: (0.90, 98.02, 2.46),
            0.25: (0.90, 99.51, 2.48),
            0.5: (0.90, 110.35, 2.56),
            1.0: (0.91, 106.63, 2.64),
        },
        "hard": {
            0.15: (0.63, 237.00, 4.06),
            0.25: (0.66, 238.92, 3.90),
            0.5: (0.59, 250.47, 4.16),
            1.0: (0.64, 256.24, 4.24),
        },
    },
}
"""Table 2, by data set, users and the share of edges that are removed."""

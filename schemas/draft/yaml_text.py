"""Values as YAML reads them back, on one line."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable

PLAIN = re.compile(r"[A-Za-z][A-Za-z0-9_]*")
NOT_TEXT = {"true", "false", "null", "yes", "no", "on", "off", "y", "n"}


def number_text(value: float) -> str:
    """A number, without decimals where it has none."""
    return str(int(value)) if value == int(value) else repr(value)


def text(value: str) -> str:
    """A text, in quotes where YAML might read something else."""
    return value if PLAIN.fullmatch(value) and value.lower() not in NOT_TEXT else json.dumps(value, ensure_ascii=False)


def flow_list(values: Iterable[str]) -> str:
    """A list of texts."""
    return f"[{', '.join(map(text, values))}]"

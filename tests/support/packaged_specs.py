"""The packaged specs, for tests that write them elsewhere."""

from __future__ import annotations

import re
from pathlib import Path


def text_alone(file: Path) -> str:
    """A spec's text without its words, which lie beside it."""
    return re.sub(r"(?m)^words: .*\n", "", file.read_text(encoding="utf-8"))

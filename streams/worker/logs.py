"""Logging on standard error: JSON lines for machines or text for people.

    logger = logging.getLogger(__name__)
    logger.info("chunk committed", extra={"topic": "journal", "partition": 3, "offset": 1200})

Only the fields named in ``FIELDS`` leave the process: ids, positions and counts, never a person's data.
"""

from __future__ import annotations

import json
import logging
import math
import sys
from datetime import UTC, datetime
from typing import TextIO

from ..settings import LogFormat, LogLevel

FIELDS = (
    "program",
    "shard",
    "application",
    "event",
    "step",
    "fate",
    "kind",
    "reason",
    "topic",
    "partition",
    "offset",
    "records",
    "behind",
    "seconds",
    "group",
    "version",
    "sha256",
    "address",
    "cleared",
    "accepted",
    "honoured",
    "broken",
    "replaced",
    "left",
)
"""The names that ``extra`` may have; others are left out."""

OURS = "onward"
REPEAT_SECONDS = 30.0
_MAX_LINES = 1_000


class RepeatFilter(logging.Filter):
    """Lets the same line of a library pass once in ``REPEAT_SECONDS``, by the times of the lines.

    Kafka's clients log a failed connection with every attempt, ten times a second.
    """

    def __init__(self) -> None:
        super().__init__()
        self._last_passed: dict[tuple[str, ...], float] = {}

    def filter(self, record: logging.LogRecord) -> bool:
        """Whether the line is Onward's, or has a traceback, or is no repeat."""
        if record.name.partition(".")[0] == OURS or record.exc_info:
            return True
        line, now = (record.name, str(record.msg), str(record.args)), record.created
        if 0 <= now - self._last_passed.get(line, -math.inf) < REPEAT_SECONDS:
            return False
        if len(self._last_passed) >= _MAX_LINES:
            self._last_passed.clear()
        self._last_passed[line] = now
        return True


class JsonFormatter(logging.Formatter):
    """One JSON object a line: time (ISO 8601, UTC), level, logger, message, the allowed fields, and the traceback."""

    def format(self, record: logging.LogRecord) -> str:
        """The line, without its line break."""
        line: dict[str, object] = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
            **_fields(record),
        }
        if record.exc_info:
            line["exception"] = self.formatException(record.exc_info)
        return json.dumps(line, default=str, ensure_ascii=False)


class TextFormatter(logging.Formatter):
    """``09:15:02 INFO onward.streams.engine.process: chunk committed partition=3 offset=1200``, in local time."""

    def __init__(self) -> None:
        super().__init__("%(asctime)s %(levelname)s %(name)s: %(message)s", datefmt="%H:%M:%S")

    def formatMessage(self, record: logging.LogRecord) -> str:
        """The line, followed by its fields."""
        return " ".join((super().formatMessage(record), *(f"{key}={value}" for key, value in _fields(record).items())))


def configure(level: LogLevel, form: LogFormat, stream: TextIO | None = None) -> None:
    """Set the logging of the process: Onward's loggers from ``level`` on, all others from warnings on."""
    handler = logging.StreamHandler(stream or sys.stderr)
    handler.addFilter(RepeatFilter())
    handler.setFormatter(JsonFormatter() if form == "json" else TextFormatter())
    logging.basicConfig(level=logging.WARNING, handlers=[handler], force=True)
    logging.getLogger(OURS).setLevel(level.upper())
    logging.captureWarnings(True)


def _fields(record: logging.LogRecord) -> dict[str, object]:
    return {name: getattr(record, name) for name in FIELDS if hasattr(record, name)}

"""What a worker does where nobody sets it otherwise: the defaults of its settings, and of what is built without any.

Commands that read topics take the same ones.
"""

from __future__ import annotations

from typing import Final

GROUP: Final = "onward"
SESSION_TIMEOUT_SECONDS: Final = 10
FETCH_WAIT_SECONDS: Final = 0.1
FETCH_PAUSE_SECONDS: Final = 0.01
CHUNK_RECORDS: Final = 500
COMMIT_INTERVAL_SECONDS: Final = 1
MAX_RECORD_BYTES: Final = 262_144
MAX_BATCH_BYTES: Final = 64 << 20
MAX_FUTURE_SECONDS: Final = 300
MAX_AGE_DAYS: Final = 3650
MAX_DEAD_LETTERS_PER_SECOND: Final = 100
WAITING_LIMIT: Final = 10_000
SNAPSHOT_MINUTES: Final = 10

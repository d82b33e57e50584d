"""All targets by name."""

from __future__ import annotations

from collections.abc import Mapping

import fuzz_batches
import fuzz_files
import fuzz_ledgers
import fuzz_records
import fuzz_stores
import fuzz_values
from fuzz_inputs import Target

TARGETS: Mapping[str, Target] = {
    **fuzz_values.TARGETS,
    **fuzz_records.TARGETS,
    **fuzz_batches.TARGETS,
    **fuzz_files.TARGETS,
    **fuzz_stores.TARGETS,
    **fuzz_ledgers.TARGETS,
}

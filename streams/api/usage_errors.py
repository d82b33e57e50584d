"""One type of exception: whatever a caller can do wrong raises an ``OnwardError``."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from ...schemas.specfile import SpecError
from ...schemas.table import TableError
from ..errors import UsageError


@contextmanager
def usage_errors() -> Iterator[None]:
    """Raise the errors of spec and data files as ``UsageError``, with the same lines."""
    try:
        yield
    except (SpecError, TableError) as error:
        raise UsageError(str(error)) from None

"""How much one consumer unpacks and returns at once, so that its memory is bounded whatever is sent."""

from __future__ import annotations

CALL_BYTES = 16 << 20
"""A call for records returns no further one after this many bytes of memory, and the queue takes no further call's."""


class ReadBudget:
    """The limits of one consumer.

    ``batch_bytes`` is the largest batch that is unpacked, ``left`` the memory that the records of the current call may
    still take. One record more than that is returned, so that a call always returns something. ``every_header`` says
    that a record with a header name that is not UTF-8 keeps its headers, that name escaped.
    """

    def __init__(self, batch_bytes: int, every_header: bool = False) -> None:
        self.batch_bytes = batch_bytes
        self.every_header = every_header
        self.left = CALL_BYTES

    @property
    def spent(self) -> int:
        """The memory of the records that the current call has returned."""
        return CALL_BYTES - self.left

    def renew(self) -> None:
        """Begin another call."""
        self.left = CALL_BYTES

"""How much one consumer unpacks and returns at once, so that its memory is bounded whatever is sent."""

from __future__ import annotations

CALL_BYTES = 16 << 20
"""A call for records returns no further one after this many bytes of memory, and the queue takes no further call's."""


class ReadBudget:
    """The limits of one consumer.

    ``batch_bytes`` is the largest batch that is unpacked, ``left`` the memory that the records of the current call may
    still take. One record more than that is returned, so that a call always returns something.
    """

    def __init__(self, batch_bytes: int) -> None:
        self.batch_bytes = batch_bytes
        self.left = CALL_BYTES

    @property
    def spent(self) -> int:
        """The memory of the records that the current call has returned."""
        return CALL_BYTES - self.left

    def renew(self) -> None:
        """Begin another call."""
        self.left = CALL_BYTES

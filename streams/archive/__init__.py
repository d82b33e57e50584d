"""The archive: journal records that were cut, and ledgers from which they can be folded."""

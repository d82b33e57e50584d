"""The one ordered log: its entries, its lines, its dead letters."""

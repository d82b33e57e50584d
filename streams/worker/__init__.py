"""The worker: its partitions, its metrics and its health."""

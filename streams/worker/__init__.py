"""What a worker does with its partitions, and what it shows of itself."""

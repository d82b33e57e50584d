"""Topics, offsets and reachability of a Kafka."""

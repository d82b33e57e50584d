"""What the shards of a program tell each other of what they have learned."""

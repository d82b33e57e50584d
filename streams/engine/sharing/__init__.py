"""Evidence that the shards of a program share with each other."""

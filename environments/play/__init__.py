"""How worlds are played: what a world is, its programs, and the steps of a simulation over Kafka."""

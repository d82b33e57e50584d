"""What the benchmark of learners in worlds with a known truth is made of."""

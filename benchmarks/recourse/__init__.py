"""What the benchmark of options is made of."""

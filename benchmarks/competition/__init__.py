"""What the benchmark of durable recourse is made of."""

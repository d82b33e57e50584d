"""What the benchmark of robust recourse measures, one file a question."""

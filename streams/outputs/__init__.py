"""What is published, and how readers decode it and drop repeats."""

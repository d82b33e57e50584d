"""The published outputs, and how readers decode them and drop repeats."""

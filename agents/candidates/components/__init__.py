"""What generators are made of: grids of steps, sets of features, scans of scored targets, and explanations."""

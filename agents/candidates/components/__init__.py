"""What generators are made of: grids of steps, sets of features, targets that are scored, and explanations."""

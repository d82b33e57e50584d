"""The parts of generators: grids of steps, sets of features, targets that are scored, and explanations."""

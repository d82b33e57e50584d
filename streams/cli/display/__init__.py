"""What the commands show: progress, a new model, and a simulation's summary on the screen or as an HTML report."""

"""The output of commands: progress, a new model, and a simulation's summary on the screen or as an HTML report."""

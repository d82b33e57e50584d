"""Displays of a simulation: progress on the screen, tables of its summary, an HTML report."""

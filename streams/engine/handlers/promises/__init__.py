"""Promises: options are opened, people come back with them, a new model is asked about them, and they expire."""

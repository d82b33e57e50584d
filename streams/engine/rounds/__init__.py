"""Rounds with limited places: who is in which, what is promised to whom, and what is learned from closed rounds."""

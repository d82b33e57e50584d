"""Picks: which option people would take, and what that says of the population."""

"""Promises that options hold: opened, settled when people come back, revalidated under a new model, and expired."""

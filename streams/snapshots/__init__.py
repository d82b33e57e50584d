"""Copies of ledgers: taken, stored, and begun with."""

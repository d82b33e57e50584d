"""Erasure: somebody is forgotten. Their cases and rows go, and what they send again is left out."""

"""Simulates worlds against the pipeline and counts its answers."""

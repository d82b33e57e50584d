"""Plays simulated worlds against the pipeline and counts what comes back."""

"""Simulated worlds: who applies, what they could become, and the true outcomes."""

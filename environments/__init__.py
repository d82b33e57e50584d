"""Simulated worlds: who applies, what they could become, and what really comes of it."""

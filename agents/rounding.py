"""The error that a computed number may have gathered."""

from __future__ import annotations

ROUNDING = 1e-9
"""By how much a number may miss what it equals, in its own unit: steps, scaled changes, scores. Raw steps, for one, do
not divide a range exactly, and 0.29 * 100 is less than 29."""

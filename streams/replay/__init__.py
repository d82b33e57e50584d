"""The journal folded again, to evaluate another policy on it."""

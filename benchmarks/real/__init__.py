"""Worlds of structural equations that a program does not know: what it tells people there, and what is true."""

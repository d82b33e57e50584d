"""Onward: an event-streaming pipeline for algorithmic recourse."""

__version__ = "0.1.0"

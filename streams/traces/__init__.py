"""Traces: where anything still names people who were to be forgotten, in topics and files."""

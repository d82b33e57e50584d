"""The state of a journal partition in one SQLite file."""

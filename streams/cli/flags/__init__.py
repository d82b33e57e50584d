"""The flags of commands, and the checks before they begin."""

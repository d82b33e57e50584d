"""Checks what the input topics bring and appends it to the journal."""

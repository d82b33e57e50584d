"""Parts of methods that estimate improvement."""

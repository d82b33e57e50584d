"""What the commands read from their command lines, and check before they begin."""

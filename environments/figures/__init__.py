"""What is shown of a run: its statistics, on the screen, on a page, and as JSON."""

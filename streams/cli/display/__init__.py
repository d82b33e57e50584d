"""What a simulation shows: progress on the screen, tables of its summary, an HTML report."""

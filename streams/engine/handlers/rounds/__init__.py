"""Rounds with limited places: their announcements and ends, and how they are closed."""

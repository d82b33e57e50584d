"""The parts of goals for limited places."""

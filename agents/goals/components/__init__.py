"""What goals for limited places are made of."""

"""Decision models: scored row by row, the same bit for bit in any batch."""

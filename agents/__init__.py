"""What suggests and what learns: goals, candidates, costs, choices. Plain numpy; no input or output, no clock."""

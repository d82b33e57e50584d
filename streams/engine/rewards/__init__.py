"""What became of recourses: outcomes and windows, what the learner is told, and whether rewards are as expected."""

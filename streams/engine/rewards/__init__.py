"""The fates of recourses: outcomes and windows, rewards of the learner, and whether rewards are as expected."""

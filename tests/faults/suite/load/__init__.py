"""The inputs: applicants, a sender at a steady rate, and bad records."""

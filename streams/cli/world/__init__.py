"""Simulated worlds of the commands: built, written as program folders, and driven over Kafka."""

"""Simulated worlds for the commands: how they are built, written as program folders, and driven over Kafka."""

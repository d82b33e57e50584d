"""The checks after a scenario: against the inputs, and against a run without faults."""

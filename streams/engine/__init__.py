"""Folds the journal: ``process`` takes entries and gives effects. No I/O, no clock."""

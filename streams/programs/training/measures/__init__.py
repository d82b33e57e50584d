"""What is measured of a new model: one file a measure, with its words."""

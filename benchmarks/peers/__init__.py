"""What others propose to the same people under the same model: one file a library or method."""

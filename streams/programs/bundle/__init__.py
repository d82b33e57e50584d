"""Model bundles: the folders that hold a model with its manifest, instances and population."""

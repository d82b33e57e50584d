"""What several choices are made of: posteriors, regressions, kernels, buffers."""

"""Parts shared by several choices: posteriors, regressions, kernels, buffers."""

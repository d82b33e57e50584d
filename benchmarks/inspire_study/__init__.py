"""INSPIRE reproduced: the authors' data, cost sampler, methods and metrics."""

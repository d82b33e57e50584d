"""Parts that the tests, the fault suite and the benchmarks share. Only a checkout has them, the wheel does not."""

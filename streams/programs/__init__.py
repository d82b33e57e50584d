"""Programs: specs assembled with their models, models loaded, scored and trained."""

"""Worker processes under faults, and the supervisor that restarts them."""

"""The output of commands: progress, a new model, and what happened to one application, in words and on a page."""

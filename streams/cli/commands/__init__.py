"""One module a command; each has ``run(args) -> exit code``. See ``COMMANDS`` in the package above."""

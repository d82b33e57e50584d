"""``python -m onward`` is the command ``onward``."""

from .streams.cli import main

raise SystemExit(main())

"""The command `onward` with the learner and the input of this folder."""

import sys

import success_share  # noqa: F401
import withdrawals  # noqa: F401

from onward.streams.cli import main

sys.exit(main())

"""The settings: each is the plain world with a few things that real data have."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from types import MappingProxyType

from onward.environments.lender import Setting

LATE = (150, 420)
_PLAIN, _CONFOUNDED = Setting(), Setting(hidden="confounder")
_APPROVED = Setting(hidden="seen", approved_only=True)
_MEASURES, _BORROWED = replace(_PLAIN, measures=5, people=500), replace(_PLAIN, borrowed=0.9)
SETTINGS: Mapping[str, Setting] = MappingProxyType(
    {
        "plain": _PLAIN,
        "confounded": _CONFOUNDED,
        "late": replace(_PLAIN, report_days=LATE),
        "late-confounded": replace(_CONFOUNDED, report_days=LATE),
        "silent": replace(_PLAIN, reporting=0.1),
        "silent-confounded": replace(_CONFOUNDED, reporting=0.1),
        "approved-only": _APPROVED,
        "approved-only-late": replace(_APPROVED, report_days=LATE),
        "measures": _MEASURES,
        "measures-told": replace(_MEASURES, told=1.0),
        "measures-half-told": replace(_MEASURES, told=0.5),
        "proxy": replace(_PLAIN, hidden="proxy"),
        "side-effects": _BORROWED,
        "side-effects-told": replace(_BORROWED, told=1.0),
        "unnamed": replace(_PLAIN, names_option=False),
        "150-rows": replace(_PLAIN, rows=150),
        "152-columns": replace(_PLAIN, noise_columns=143, people=200),
    }
)
"""The settings by name."""

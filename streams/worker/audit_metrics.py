"""Metrics of features with ``audit: true``: whom recourses serve, by group."""

from __future__ import annotations

from collections.abc import Mapping

from ...schemas.not_given import NOT_GIVEN_GROUP
from ..engine.metrics import AUDITED, OBSERVATIONS
from ..metrics import Metrics
from ..programs.program import Program


def begin_audits(metrics: Metrics, programs: Mapping[str, Program]) -> None:
    """Let the counters of watched groups begin at 0: Prometheus sees no increase in one that begins with somebody."""
    counters = [metrics.counts[name] for name, observed in OBSERVATIONS.items() if observed.labels == AUDITED]
    for name, program in programs.items():
        for feature in (program.spec.features[number] for number in program.audited):
            for group in (*feature.values, *([] if feature.missing is None else [NOT_GIVEN_GROUP])):
                for counter in counters:
                    counter.labels(name, feature.name, group)

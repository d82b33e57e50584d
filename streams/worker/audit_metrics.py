"""Metrics of features with ``audit: true``: whom recourses serve, by group."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from ...schemas.not_given import NOT_GIVEN_GROUP
from ..engine.portion import AuditRecord
from ..metrics import Metrics
from ..programs.program import Program


class AuditMetrics:
    """Counts rejected people by the groups that are watched, and sums of what their recourses say."""

    def __init__(self, metrics: Metrics, programs: Mapping[str, Program]) -> None:
        self._people, self._served = metrics.audited_people, metrics.audited_recourses
        self._cost, self._satisfied = metrics.audited_cost, metrics.audited_satisfied
        for name, program in programs.items():
            for feature in (program.spec.features[number] for number in program.audited):
                for group in (*feature.values, *([] if feature.missing is None else [NOT_GIVEN_GROUP])):
                    # Prometheus sees no increase in a series that begins with somebody.
                    for counter in (self._people, self._served, self._cost, self._satisfied):
                        counter.labels(name, feature.name, group)

    def count(self, audited: Iterable[AuditRecord]) -> None:
        """Count people."""
        for *labels, cost, satisfied in audited:
            self._people.labels(*labels).inc()
            if cost is not None:
                self._served.labels(*labels).inc()
                self._cost.labels(*labels).inc(cost)
                self._satisfied.labels(*labels).inc(satisfied or 0.0)

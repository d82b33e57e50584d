"""All rules by name, the gravest first."""

from __future__ import annotations

from collections.abc import Mapping

from . import Rule
from .coherence import leaves_total
from .columns import near_copy, one_value_of_one_outcome, rows_told_apart, stands_apart
from .directions import against_data
from .lasting import dies
from .options import doubles, up_to_a_point
from .people import below_floor, far_from_label, third_outcomes, without_option

RULES: Mapping[str, Rule] = {
    "post_decision": one_value_of_one_outcome,
    "code": stands_apart,
    "third_outcome": third_outcomes,
    "near_copy": near_copy,
    "against_data": against_data,
    "single_rows": rows_told_apart,
    "incoherent": leaves_total,
    "below_floor": below_floor,
    "without_option": without_option,
    "doubles": doubles,
    "dies": dies,
    "approval_rate": far_from_label,
    "up_to_a_point": up_to_a_point,
}

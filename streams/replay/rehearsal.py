"""The first answer of a program, before anybody waits for it: what it needs is compiled, or read from where it is kept.

Numba compiles at the first call, which takes seconds. It keeps what it compiles in the folder that ``NUMBA_CACHE_DIR``
names, else beside the package, and where that cannot be written to in the user's cache.
"""

from __future__ import annotations

import numpy as np

from ...agents.arrays import Array
from ..programs.program import Program
from .suggestions import Features, suggest

DRAWN = 500
"""Made-up people, of whom some that the model rejects are taken. Most of them may break the rules of the spec."""
ANSWERED = 10
"""As many are answered: which steps a search takes depends on the person."""


def rehearse(program: Program) -> None:
    """Answer made-up people, and forget them; nothing is done where the model rejects none of those that are drawn.

    A program of limited places only looks for options: what it answers depends on who else has applied. Raises
    ``ModelError`` where the model cannot score somebody.
    """
    X = np.random.default_rng(0).random((DRAWN, program.codec.dimension))
    people = [person for person in _decoded(program, X) if program.codec.check(person) is None]
    encoded = program.codec.encode_many(people)
    kept = np.flatnonzero(program.codec.keep_rules(encoded))
    scores = program.bundle.model.score(encoded[kept])
    rejected = kept[~program.approves(scores) & ~np.isnan(scores)][:ANSWERED]
    if not len(rejected):
        return
    if program.closes_rounds:
        program.vetting_under(program.bundle).propose(encoded[rejected])
        return
    for _ in suggest(program, {f"rehearsal {number}": people[number] for number in rejected.tolist()}, 0):
        pass


def _decoded(program: Program, X: Array) -> list[Features]:
    codec = program.codec
    return [
        {
            feature.name: codec.value(index, code)
            for index, (feature, code) in enumerate(zip(codec.features, row, strict=True))
        }
        for row in codec.codes(X).tolist()
    ]

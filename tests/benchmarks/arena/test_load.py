from __future__ import annotations

from datetime import timedelta

import numpy as np
import pytest

from onward.benchmarks.arena.load import Shape, write_load
from onward.streams.programs.assembly import assemble
from onward.streams.programs.spec_check import load_program_spec


@pytest.mark.parametrize(
    ("shape", "window"),
    [
        (Shape(), 10),
        (Shape("other", candidates=30, shards=3, window={"time": "PT90S"}, choice="protoar"), timedelta(seconds=90)),
    ],
)
def test_the_program_has_its_shape_and_rejects_its_people(shape, window, tmp_path):
    load = write_load(tmp_path / "program", 0, None, shape)
    program = assemble(load_program_spec(load.spec))
    policy = program.spec.policy
    assert (load.program, len(program.points), program.spec.shards) == (shape.program, shape.candidates, shape.shards)
    assert (policy.choice, policy.window.steps or policy.window.time) == (shape.choice, window)
    people = program.codec.encode_many(load.rejected[:200])
    assert not np.any(program.approves(program.bundle.model.score(people)))

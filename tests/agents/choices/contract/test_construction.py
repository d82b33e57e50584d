"""The laws of every choice on its parameters, sizes, artefacts and name."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from onward.agents.choices import Choice
from onward.agents.registry import Registry
from onward.tests.support.choice_learners import grid


def test_parameters_are_checked(kind: type[Choice]) -> None:
    kind(grid(3), 2, **{name: parameter.default for name, parameter in kind.parameters().items()})
    with pytest.raises(ValueError, match="no parameter 'lucky_number'"):
        kind.check({"lucky_number": 7.0})
    for name in kind.parameters():
        with pytest.raises(ValueError, match=f"{name} is nan"):
            kind(grid(3), 2, **{name: float("nan")})


@pytest.mark.parametrize(("shape", "window"), [((3,), 2), ((3, 2), 0)])
def test_sizes_are_checked(kind: type[Choice], shape: tuple[int, ...], window: int) -> None:
    with pytest.raises(ValueError, match="give"):
        kind(np.zeros(shape), window)


def test_a_choice_takes_exactly_the_artefacts_that_it_needs(kind: type[Choice]) -> None:
    with pytest.raises(ValueError, match="needs"):
        kind(grid(3), 2).equip(**dict.fromkeys({*kind.needs, "another"}))


def test_two_choices_of_one_name_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    package = tmp_path / "doubled"
    package.mkdir()
    (package / "__init__.py").touch()
    for name in ("one", "two"):
        (package / f"{name}.py").write_text("from onward.agents.choices import ProtoAR\nclass Same(ProtoAR): pass\n")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(ValueError, match="two methods are called 'protoar'"):
        Registry(Choice, "doubled", [str(package)])

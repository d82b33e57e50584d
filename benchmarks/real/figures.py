"""The figures of a setting: what is reached there, what is said, and what is true.

All are of the second half of the people. ``reward`` is the mean of true execution times true help of the option that
people take, 0 for those without one; ``none`` is their share. Stated minus true are means over the options taken, with
their sign. ``no learning`` is what the same options bring that are picked before any outcome.
"""

from __future__ import annotations

import math
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import numpy as np

from onward import load_program
from onward.benchmarks.face import progress
from onward.benchmarks.real.play import Play, told_of
from onward.benchmarks.real.program import RealProgram
from onward.benchmarks.real.settings import PROXY, SETTINGS, StudiedSetting
from onward.environments.lender import Oracle, StatedOption, taken_of

IN_TIME = 400
"""By how many known outcomes a proxy is to be named."""


class World(NamedTuple):
    """What settings of the same file have in common: the program, its rejected people, and what is told unlearned."""

    program: RealProgram
    unlearned: Sequence[Sequence[StatedOption]]
    oracle: Sequence[float]


class Worlds:
    """The settings of one seed. Those that differ only in what is reported share a program."""

    def __init__(self, seed: int, most_people: int, most_rows: int, folder: Path) -> None:
        self._seed, self._most_people, self._most_rows, self._folder = seed, most_people, most_rows, folder
        self._worlds: dict[StudiedSetting, World] = {}

    def figures(self, name: str) -> Mapping[str, float]:
        """The figures of a setting by their names."""
        started, declared = time.process_time(), SETTINGS[name]
        rows, number = min(declared.rows, self._most_rows), min(declared.people, self._most_people)
        setting = replace(declared, rows=rows, people=number)
        world = self._world(setting)
        made = time.process_time()
        played = Play(world.program, setting, world.program.rejected(number), self._seed)
        told = played.run(self._folder / f"state-{name}").told[number // 2 :]
        spent = made - started, time.process_time() - made
        progress(f"{name}, seed {self._seed}: {spent[0]:.0f} s of CPU to make the program, {spent[1]:.0f} s to play it")
        return {**measured(told, world), **named(played.named_after, setting)}

    def _world(self, setting: StudiedSetting) -> World:
        key = setting.of_file
        if key not in self._worlds:
            program = RealProgram(key, self._seed, self._folder / f"program-{len(self._worlds)}")
            half = program.rejected(key.people).only(slice(key.people // 2, None))
            answers = load_program(program.spec).suggest(program.rows(half.columns))
            persons = [half.only(slice(place, place + 1)) for place in range(len(half.hidden))]
            told = [told_of(program, person, answer) for person, answer in zip(persons, answers, strict=True)]
            best = Oracle(program)
            self._worlds[key] = World(program, told, [best(person) for person in persons])
        return self._worlds[key]


def measured(told: Sequence[Sequence[StatedOption]], world: World) -> Mapping[str, float]:
    """The figures of what people were told."""
    taken = [option for option in map(taken_of, told) if option is not None]
    options = zip(told, world.unlearned, world.oracle, strict=True)
    best = [max([oracle, *(one.reward for one in (*own, *other))]) for own, other, oracle in options]
    found = {
        "reward": reward(told),
        "no learning": reward(world.unlearned),
        "oracle": float(np.mean(best)),
        "none": 1.0 - len(taken) / len(told),
        "stated minus true e": _mean([one.stated_execution - one.execution for one in taken]),
        "rejected afterwards": _mean([float(not one.holds) for one in taken]),
    }
    stated = [one.stated_help - one.help for one in taken if one.stated_help is not None]
    if stated or not taken:
        found["stated minus true p"] = _mean(stated)
    intervals = [(one.help, *one.interval) for of_person in told for one in of_person if one.interval is not None]
    if not intervals:
        return found
    true, low, high = np.array(intervals).T
    return found | {
        "covered": float(((low <= true) & (true <= high)).mean()),
        "width": float((high - low).mean()),
        "true between": float(np.subtract(*np.quantile(true, [0.9, 0.1]))),
    }


def named(after: Mapping[str, int], setting: StudiedSetting) -> Mapping[str, float]:
    """After how many outcomes a proxy was found to help less than it seems to, and whether that was in time.

    Of a world in which all features help as they seem to: how many were found not to.
    """
    if setting.hidden == "proxy":
        return {"named in time": float(after.get(PROXY, math.inf) <= IN_TIME)} | (
            {"named after": float(after[PROXY])} if PROXY in after else {}
        )
    return {"named wrongly": float(len(after))} if setting.cause == 0.0 and not setting.borrowed else {}


def reward(told: Sequence[Sequence[StatedOption]]) -> float:
    """The mean true reward of the options that people take."""
    taken = map(taken_of, told)
    return float(np.mean([0.0 if option is None else option.reward for option in taken]))


def _mean(values: Sequence[float]) -> float:
    return float(np.mean(values)) if values else 0.0

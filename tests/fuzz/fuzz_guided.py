"""One target under atheris, which keeps an input that reaches new code and makes the next ones of it.

    python tests/fuzz/fuzz_guided.py TARGET INPUTS SEED FOLDER

``fuzz.py`` starts it and reads what it prints: libFuzzer's own lines, and a ``Told`` in JSON for every slower input and
every new failure. The smallest input of each failure is put into the folder. It goes on after a failure; a hang, a lack
of memory or a crash ends it.
"""

from __future__ import annotations

import hashlib
import logging
import resource
import sys
import traceback
import warnings
from pathlib import Path
from types import TracebackType

import atheris
from msgspec import Struct
from msgspec.json import encode

ROOT = Path(__file__).parents[2]


def _compiled() -> list[str]:
    """The modules that numba compiles functions of: it cannot compile what atheris has put its own calls into."""
    files = [file for file in ROOT.glob("agents/**/*.py") if "\n@compiled\n" in file.read_text()]
    return [".".join(("onward", *file.relative_to(ROOT).with_suffix("").parts)) for file in files]


with atheris.instrument_imports(include=["onward", "ruamel", "aiokafka"], exclude=_compiled()):
    from fuzz_inputs import Target, spend
    from fuzz_targets import TARGETS

LARGEST_INPUT_BYTES = 4096
"""But for targets with a larger seed: cut, it would be of no use."""
HANG_SECONDS = 30
MOST_MB = 4096
LONGEST_WORD = 60
"""libFuzzer takes words of up to 64 bytes."""


class Told(Struct):
    """What this process says to ``fuzz.py``. ``failure`` is empty for an input that was only slower than all before."""

    seconds: float
    failure: str = ""
    kept: str = ""


class Guided:
    """Gives inputs to a target and tells of what stands out."""

    def __init__(self, name: str, target: Target, folder: Path) -> None:
        self._name = name
        self._target = target
        self._folder = folder
        self._slowest = 0.0
        self._smallest: dict[str, int] = {}

    def take(self, data: bytes) -> None:
        """Check one input."""
        try:
            seconds = spend(self._target, data).seconds
        except (KeyboardInterrupt, SystemExit):
            raise
        except BaseException as error:
            self._fail(error, data)
        else:
            if seconds > self._slowest:
                self._slowest = seconds
                self._tell(Told(seconds))

    def _fail(self, error: BaseException, data: bytes) -> None:
        what = f"{type(error).__name__} in {_place(error.__traceback__)}"
        if len(data) < self._smallest.get(what, sys.maxsize):
            file = self._folder / f"{self._name}-{hashlib.sha256(what.encode()).hexdigest()[:8]}"
            file.write_bytes(data)
            if what not in self._smallest:
                self._tell(Told(self._slowest, f"{what}: {error}"[:500], str(file)))
            self._smallest[what] = len(data)

    def _tell(self, told: Told) -> None:
        print(encode(told).decode(), flush=True)


def main(name: str, inputs: int, seed: int, folder: Path) -> None:
    """Run a target; does not return."""
    target = TARGETS[name]
    corpus, words = folder / "corpus" / name, folder / f"{name}.words"
    corpus.mkdir(parents=True)
    for number, data in enumerate((*target.seeds, *target.kept.values())):
        (corpus / f"seed-{number}").write_bytes(data)
    words.write_text("".join(map(_entry, (word for word in target.words if len(word) <= LONGEST_WORD))))
    warnings.simplefilter("error")
    logging.disable()
    resource.setrlimit(resource.RLIMIT_AS, (MOST_MB << 20, MOST_MB << 20))
    options: dict[str, object] = {
        "runs": inputs,
        "seed": seed,
        "max_len": max(LARGEST_INPUT_BYTES, *map(len, target.seeds)),
        "timeout": HANG_SECONDS,
        "rss_limit_mb": MOST_MB,
        "artifact_prefix": f"{folder / name}-",
        "print_final_stats": 1,
    }
    if target.words:
        options["dict"] = words
    arguments = [f"-{option}={value}" for option, value in options.items()]
    atheris.Setup([sys.argv[0], *arguments, str(corpus)], Guided(name, target, folder).take)
    atheris.Fuzz()


def _entry(word: bytes) -> str:
    """A word as a line of libFuzzer's dictionary."""
    written = "".join(f"\\x{byte:02X}" for byte in word)
    return f'"{written}"\n'


def _place(trace: TracebackType | None) -> str:
    """The innermost line of Onward's own, or of a target."""
    frames = [frame for frame in traceback.extract_tb(trace) if "site-packages" not in frame.filename]
    own = [frame for frame in frames if Path(frame.filename).is_relative_to(ROOT)] or frames
    return f"{Path(own[-1].filename).name}:{own[-1].lineno}"


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), Path(sys.argv[4]))

"""The peer's side: makes a peer of the files that ``process.py`` writes, and answers until nobody asks any more."""

from __future__ import annotations

import contextlib
import signal
import sys
import time
import warnings
from collections.abc import Callable, Iterator
from multiprocessing.connection import Connection
from pathlib import Path

import msgspec
import numpy as np
import skops.io

from onward.benchmarks.peers.contract import Peer, Setting, joined
from onward.benchmarks.peers.process import MODEL, OPTIONS, ROWS, SPEC, receive, send
from onward.schemas.encoding import FeatureCodec
from onward.schemas.specfile import load_spec
from onward.streams.programs.models.scoring import scorer


def serve(make: Callable[..., Peer]) -> None:
    """The program of a peer; ``make`` takes a ``Setting`` and the peer's own options."""
    warnings.simplefilter("ignore")
    folder, connection = Path(sys.argv[1]), Connection(int(sys.argv[2]))
    asked = msgspec.json.decode((folder / OPTIONS).read_bytes())
    setting = read_setting(folder)
    peer = make(setting, **asked["options"])
    while True:
        try:
            request = receive(connection)
        except EOFError:
            return
        found, started = [], time.process_time()
        seeds = range(int(request["first_seed"]), sys.maxsize)
        for person, required, seed in zip(request["people"], request["required"].tolist(), seeds, strict=False):
            rows = np.zeros((0, setting.codec.dimension))
            with patience(asked["patience_seconds"]):
                rows = peer.counterfactuals(person, required, seed)
            found.append(rows)
        answer = joined(found, setting.codec.dimension, time.process_time() - started)
        send(connection, whose=answer.whose, targets=answer.targets, seconds=np.array(answer.seconds))


def read_setting(folder: Path) -> Setting:
    """The setting that ``Files`` wrote."""
    codec, file = FeatureCodec(load_spec(folder / SPEC).spec), folder / MODEL
    estimator = skops.io.load(file, trusted=skops.io.get_untrusted_types(file=file))
    with np.load(folder / ROWS) as stored:
        return Setting(codec, scorer(estimator, codec.dimension).score, **stored)


@contextlib.contextmanager
def patience(seconds: float) -> Iterator[None]:
    """End what takes longer: some people keep a peer's search going without an end."""

    def ended(*_: object) -> None:
        raise TimeoutError

    signal.signal(signal.SIGALRM, ended)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    except TimeoutError:
        pass
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)

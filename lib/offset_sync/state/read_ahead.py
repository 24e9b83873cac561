"""What is read piece by piece, one piece ahead: while one is worked on the next is read beside it."""

from __future__ import annotations

import queue
import threading
from collections.abc import Iterable, Iterator
from itertools import islice
from typing import TypeVar

Piece = TypeVar("Piece")


class _End:
    """There is no more, for the reason of *problem* if there is one."""

    def __init__(self, problem: BaseException | None) -> None:
        self.problem = problem


def read_ahead(pieces: Iterable[Piece]) -> Iterator[Piece]:
    """Yield *pieces*; all but the first two are read by a thread of their own, which ends when nobody waits for more.

    At most three are in memory: the one that is worked on, one that waits, and one that is being read.
    """
    source, ended = iter(pieces), threading.Event()
    first = list(islice(source, 2))
    yield from first
    if len(first) < 2:
        return
    waiting: queue.Queue[Piece | _End] = queue.Queue(maxsize=1)

    def put(piece: Piece | _End) -> bool:
        while not ended.is_set():
            try:
                waiting.put(piece, timeout=0.5)
            except queue.Full:
                continue
            return True
        return False

    def read() -> None:
        try:
            for piece in source:
                if not put(piece):
                    return
        except BaseException as problem:  # of whoever waits
            put(_End(problem))
        else:
            put(_End(None))

    threading.Thread(target=read, name="reading ahead", daemon=True).start()
    try:
        while not isinstance(piece := waiting.get(), _End):
            yield piece
    finally:
        ended.set()
    if piece.problem is not None:
        raise piece.problem

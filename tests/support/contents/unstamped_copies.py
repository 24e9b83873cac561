"""A log and its copy by a mirror that stamps nothing: the records of both, and the true original of each copy.

Everything follows from the seed. Offsets have gaps where transactions have left markers.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Int64s = NDArray[np.int64]
REPEATS = ("same millisecond", "batches sent twice", "far apart", "five constants")
ALPHABET = "alphabet"
"""Unlike any real workload: all contents are of so few kinds that hardly one is unique."""


@dataclass(frozen=True)
class Workload:
    """How often what happens, per record; *repeat* is one of :data:`REPEATS`, of which *share* of the records are, or
    :data:`ALPHABET` with *share* times as many kinds as there are records.

    The mirror restarts about every *restart* records and sends up to *resend* again. It drops *drop* of them at
    random, and *drop_contents* of all contents for good, and alters *altered*. Of *reorder* records each comes up to
    *displaced* later.
    """

    records: int = 20_000
    repeat: str = REPEATS[0]
    share: float = 0.01
    restart: int = 5_000
    resend: int = 500
    drop: float = 0.0
    drop_contents: float = 0.0
    reorder: float = 0.0
    displaced: int = 20
    markers: float = 0.0
    altered: float = 0.0


@dataclass(frozen=True)
class History:
    """Originals at offsets *original* with *contents*, and copies at offsets *copy*, each of original number *of*.

    *copied* are the contents of the copies, which are those of their originals where the mirror alters nothing.
    """

    original: Int64s
    contents: Int64s
    copy: Int64s
    of: Int64s
    copied: Int64s

    @property
    def identity(self) -> Int64s:
        """The offset of each copy's original."""
        return self.original[self.of]

    @property
    def latest_fill(self) -> int:
        """After how many copies at most one came that was a hole before: so old a hole has to be to count as one."""
        place = np.full(len(self.original), len(self.of))
        np.minimum.at(place, self.of, np.arange(len(self.of)))
        shown = np.minimum.accumulate(np.append(place[1:], len(self.of))[::-1])[::-1]
        is_filled = place < len(self.of)
        return int((place - shown)[is_filled].max(initial=0)) + 1


def fingerprints(contents: Int64s) -> Int64s:
    """Return a fingerprint of each: nothing of the contents' order is left."""
    return contents * np.int64(-7046029254386353131)


def history(workload: Workload, seed: int, mirror: int = 0) -> History:
    """Return one history of *workload*; other mirrors of the same seed copy the same originals in another way."""
    rng, by_mirror = np.random.default_rng(seed), np.random.default_rng((seed, mirror))
    contents = _contents(workload, rng)
    original, of = _offsets(len(contents), workload, rng), _copied(workload, contents, by_mirror)
    is_altered = by_mirror.random(len(of)) < workload.altered
    copied = np.where(is_altered, 10**9 + np.arange(len(of)), contents[of])
    return History(original, contents, _offsets(len(of), workload, by_mirror), of, copied)


def _offsets(records: int, workload: Workload, rng: np.random.Generator) -> Int64s:
    return np.arange(records) + np.cumsum(rng.random(records) < workload.markers)


def _contents(workload: Workload, rng: np.random.Generator) -> Int64s:
    number = workload.records
    contents = np.arange(number) + 10
    again = np.flatnonzero(rng.random(number) < workload.share)
    if workload.repeat == "same millisecond":
        for row in again.tolist():  # one after the other, for a repeat may be repeated
            contents[row] = contents[max(row - int(rng.integers(1, 6)), 0)]
    elif workload.repeat == "batches sent twice":
        at = 0
        while at < number and workload.share:
            size = int(rng.integers(2, 120))
            if rng.random() < workload.share:
                contents[at + size : at + 2 * size] = contents[at : at + size][: max(number - at - size, 0)]
                at += size
            at += size
    elif workload.repeat == ALPHABET:
        contents = rng.integers(0, max(int(number * workload.share), 3), number)
    elif workload.repeat == "far apart":
        contents[again] = contents[rng.integers(0, np.maximum(again, 1))]
    else:
        contents[again] = rng.integers(0, 5, len(again))
    return contents


def _copied(workload: Workload, contents: Int64s, rng: np.random.Generator) -> Int64s:
    """Return the numbers of the originals in the order in which they arrive."""
    sessions, at, furthest = [], 0, 0
    while at < len(contents):
        end = min(at + 1 + int(rng.exponential(workload.restart)), len(contents))
        sessions.append(np.arange(at, end))
        furthest = max(furthest, end)  # what it has noted of its way is never further behind
        at = end if end == len(contents) else max(furthest - int(rng.integers(0, workload.resend + 1)), 0)
    of = np.concatenate(sessions)
    if workload.drop_contents:
        kinds = rng.random(int(contents.max()) + 1) < workload.drop_contents
        of = of[~kinds[contents[of]]]
    of = of[rng.random(len(of)) >= workload.drop]
    of = of if len(of) else np.zeros(1, np.int64)
    late = np.where(rng.random(len(of)) < workload.reorder, rng.integers(1, workload.displaced + 1, len(of)), 0)
    return of[np.argsort(np.arange(len(of)) + late + rng.random(len(of)) * 0.5 * (late > 0), kind="stable")]

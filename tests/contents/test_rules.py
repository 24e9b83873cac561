"""Where the order of the originals may be broken, and how near to that nothing is certified."""

from __future__ import annotations

import numpy as np
import pytest

from offset_sync_contents.alignment.aligner import Aligner, AlignerState, Batch
from offset_sync_contents.alignment.mirror import Reach, Settings
from offset_sync_contents.alignment.records import Fingerprints, Kind
from offset_sync_contents.alignment.rules import Neighbours

WINDOW = 5
SETTINGS = Settings(reorder_window=WINDOW)


def anchors(originals: list[int]) -> Neighbours:
    nothing = np.empty(0, np.intp)
    return Neighbours(nothing, nothing, np.arange(len(originals)), np.array(originals, np.int64))


@pytest.mark.parametrize(
    ("originals", "dips"),
    [
        ([5, 6, 9, 7, 8, 10], [3]),  # another order
        ([50, 51, 52, 20, 21], [3]),  # sent again
        ([50, 51, 51, 52], [2]),
        ([5, 6, 9, 10], []),
    ],
)
def test_whatever_comes_behind_a_later_one_counts_as_broken_order(originals: list[int], dips: list[int]) -> None:
    assert anchors(originals).dips == dips


@pytest.mark.parametrize("dip_at", range(30, 70))
def test_near_is_twice_the_window_after_and_once_before(dip_at: int) -> None:
    """Of A x x B, with other originals for x far away, after or before a dip."""
    fingerprint = np.arange(100) + 1_000
    fingerprint[[2, 51, 52, 95]] = 7
    log = Fingerprints.of(np.arange(100), fingerprint)
    aligner = Aligner(AlignerState(0, Reach(0), dips=(dip_at,)), SETTINGS)
    found = aligner.advance(Batch(log, 100, Fingerprints(log.offset[50:54], log.fingerprint[50:54]), 54), 0)
    is_near = 50 - 2 * WINDOW <= dip_at <= 53 + WINDOW
    assert (found.kind[1] == Kind.BOUNDED) == is_near


def log_with_twins() -> tuple[Fingerprints, Fingerprints]:
    """Return originals, of which those of 1 and 3 in each ten look alike, and copies with two out of order at 25."""
    fingerprint = np.arange(2_000) + 1_000
    twins = fingerprint % 10 % 2 == 1
    fingerprint[twins & (fingerprint % 10 < 4)] = 7
    order = np.arange(2_000)
    order[[25, 26]] = 26, 25
    return Fingerprints.of(np.arange(2_000), fingerprint), Fingerprints.of(np.arange(2_000), fingerprint[order])


@pytest.mark.parametrize("size", [10, 100, 2_000])
def test_order_that_broke_is_looked_back_at_however_much_is_read_at_once(size: int) -> None:
    originals, copies = log_with_twins()
    aligner, kind = Aligner(AlignerState(0, Reach(0)), SETTINGS), list[int]()
    for first in range(0, 2_000, size):
        new = slice(first, first + size)
        there, here = (Fingerprints(each.offset[new], each.fingerprint[new]) for each in (originals, copies))
        kind += aligner.advance(Batch(there, first + size, here, first + size), 0).kind.tolist()
    assert [at for at, each in enumerate(kind) if each == Kind.BOUNDED] == [21, 23, 31, 33]

"""A clock that was ahead, as of the machine where the job ran before, shortens nothing once it is right again."""

from __future__ import annotations

import numpy as np
import pytest

from offset_sync.contents.alignment.aligner import Aligner, AlignerState, Batch
from offset_sync.contents.alignment.reach import Reach
from offset_sync.contents.alignment.records import Fingerprints, Kind, Settings

AHEAD_MS = 10**9
SETTINGS = Settings(resend_records=10**9, resend_ms=10_000, hold_ms=100)
LOG = Fingerprints.of(np.arange(50), np.arange(50) + 1_000)
NOTHING = Fingerprints.of([], [])


def copies(first: int, end: int, original: int) -> Fingerprints:
    return Fingerprints.of(np.arange(first, end), np.arange(original, original + end - first) + 1_000)


@pytest.mark.parametrize(("newest_ms", "complete_ms"), [(AHEAD_MS, 0), (0, AHEAD_MS), (AHEAD_MS, AHEAD_MS)])
def test_what_may_be_sent_again_is_still_known(newest_ms: int, complete_ms: int) -> None:
    state = AlignerState(10, Reach(0, 9, marks=((100, 9),), newest_ms=newest_ms), complete_ms)
    aligner = Aligner(state, SETTINGS)
    aligner.advance(Batch(LOG, 50, copies(10, 11, 10), 11), 200)
    found = aligner.advance(Batch(NOTHING, 50, copies(11, 15, 2), 15), 300)
    assert found.kind.tolist() == [Kind.EXACT] * 4
    assert found.low.tolist() == [2, 3, 4, 5]


def test_what_cannot_be_sent_again_is_forgotten_by_times_that_are_right() -> None:
    aligner = Aligner(AlignerState(10, Reach(0, 9, marks=((100, 9),)), AHEAD_MS), SETTINGS)
    aligner.advance(Batch(LOG, 50, copies(10, 11, 10), 11, 20_000), 20_000)
    aligner.advance(Batch(NOTHING, 50, copies(11, 12, 11), 12, 20_100), 20_100)
    aligner.advance(Batch(NOTHING, 50, NOTHING, 12), 20_200)
    assert aligner.state.reach.floor == 9


def test_what_is_kept_back_waits_no_longer_for_that() -> None:
    aligner = Aligner(AlignerState(0, Reach(0)), SETTINGS)
    twins = Fingerprints.of([0, 1], [7, 7])
    assert len(aligner.advance(Batch(twins, 2, twins, 2), AHEAD_MS)) == 0
    assert len(aligner.advance(Batch(NOTHING, 2, NOTHING, 2), 500)) == 0
    assert len(aligner.advance(Batch(NOTHING, 2, NOTHING, 2), 599)) == 0
    assert len(aligner.advance(Batch(NOTHING, 2, NOTHING, 2), 600)) == 2

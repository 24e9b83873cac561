"""A clock that was ahead, as of the machine where the job ran before, shortens nothing once it is right again."""

from __future__ import annotations

import numpy as np

from offset_sync.translate.fingerprint.aligner import Aligner, AlignerState, Batch
from offset_sync.translate.fingerprint.reach import Reach
from offset_sync.translate.fingerprint.records import Fingerprints, Kind, Settings

AHEAD_MS = 10**9
SETTINGS = Settings(resend_records=10**9, resend_ms=10_000, hold_ms=100)
LOG = Fingerprints.of(np.arange(50), np.arange(50) + 1_000)
NOTHING = Fingerprints.of([], [])


def copies(first: int, end: int, original: int) -> Fingerprints:
    return Fingerprints.of(np.arange(first, end), np.arange(original, original + end - first) + 1_000)


def test_what_may_be_sent_again_is_still_known() -> None:
    aligner = Aligner(AlignerState(0, Reach(0)), SETTINGS)
    aligner.advance(Batch(LOG, 50, copies(0, 10, 0), 10, 100), 100)
    aligner.advance(Batch(NOTHING, 50, copies(10, 11, 10), 11, AHEAD_MS), AHEAD_MS)
    for number, now_ms in ((11, 200), (12, 300), (13, 400)):
        aligner.advance(Batch(NOTHING, 50, copies(number, number + 1, number), number + 1, now_ms), now_ms)
    found = aligner.advance(Batch(NOTHING, 50, copies(14, 20, 2), 20, 500), 500)
    assert found.kind.tolist() == [Kind.EXACT] * 6
    assert found.low.tolist() == [2, 3, 4, 5, 6, 7]


def test_what_is_kept_back_waits_no_longer_for_that() -> None:
    aligner = Aligner(AlignerState(0, Reach(0)), SETTINGS)
    twins = Fingerprints.of([0, 1], [7, 7])
    assert len(aligner.advance(Batch(twins, 2, twins, 2), AHEAD_MS)) == 0
    assert len(aligner.advance(Batch(NOTHING, 2, NOTHING, 2), 500)) == 0
    assert len(aligner.advance(Batch(NOTHING, 2, NOTHING, 2), 599)) == 0
    assert len(aligner.advance(Batch(NOTHING, 2, NOTHING, 2), 600)) == 2

"""When copies may be aligned, up to when a log is decided, and when copies may be older than what is known."""

from __future__ import annotations

from datetime import datetime, timezone

import numpy as np

from offset_sync_contents.alignment.aligner import AlignerState, CopyFollower, Decision
from offset_sync_contents.alignment.mirror import Reach, Settings
from offset_sync_contents.alignment.records import Fingerprints, Identities, Kind, Places, Stretch

SETTINGS = Settings(hold_ms=100, resend_records=50, resend_ms=10**9, entry=5)
NOTHING = Identities(*np.empty((4, 0), np.int64), Places.none())
AT, LATER = (datetime.fromtimestamp(second, timezone.utc) for second in (1, 2))


def follower(begin: int = 0) -> CopyFollower:
    return CopyFollower(AlignerState(0, Reach(begin)), SETTINGS)


def stretch(begin: int, contents: list[int] | range, complete_ms: int = 0) -> Stretch:
    offset = np.arange(begin, begin + len(contents))
    return Stretch(begin, begin + len(contents), Fingerprints.of(offset, list(contents)), 0, complete_ms)


def test_copies_wait_for_the_end_that_was_asked_after_they_were_read() -> None:
    each = follower()
    assert each.take([stretch(0, range(4))], [])
    assert each.take([], [stretch(0, range(3))])
    assert each.is_to_ask
    assert each.advance(0) is None
    each.note_end(5, AT)
    assert not each.is_to_ask
    assert each.advance(0) is None  # a fifth original may look like any of them
    assert each.take([stretch(4, [9])], [])
    found = each.advance(0)
    assert found is not None
    assert (found.begin, found.end, found.at) == (0, 3, AT)
    assert found.identities.low.tolist() == [0, 1, 2]
    assert not each.is_waiting


def test_what_came_after_the_end_was_asked_waits_for_the_next_one() -> None:
    each = follower()
    each.take([stretch(0, range(10))], [])
    each.take([], [stretch(0, range(3))])
    each.note_end(10, AT)
    each.take([], [stretch(3, range(3, 6))])
    found = each.advance(0)
    assert found is not None
    assert found.end == 3
    assert each.is_to_ask
    each.note_end(10, LATER)
    found = each.advance(0)
    assert found is not None
    assert (found.begin, found.end, found.at) == (3, 6, LATER)


def test_records_read_before_are_omitted_and_missing_ones_are_reported() -> None:
    each = follower()
    assert each.take([stretch(0, range(5))], [])
    assert each.take([stretch(2, range(2, 7))], [])
    assert not each.take([stretch(8, [8])], [])
    assert each.take([], [stretch(0, range(5))])
    assert each.take([], [stretch(0, range(4))])
    assert not each.take([], [stretch(6, [6])])
    each.note_end(7, AT)
    found = each.advance(0)
    assert found is not None
    assert (found.identities.kind == Kind.EXACT).all()
    assert found.end == 5


def test_a_log_is_decided_up_to_the_last_end_below_which_nothing_waits() -> None:
    each = follower()
    each.take([stretch(0, [0, 1, 2, 7, 7, 7])], [])
    each.take([], [stretch(0, [0, 1], complete_ms=10)])
    each.note_end(6, AT)
    found = each.advance(30)
    assert found is not None
    assert (found.end, found.complete_ms) == (2, 10)
    each.take([], [stretch(2, [2, 7], complete_ms=20)])
    each.note_end(6, AT)
    found = each.advance(30)
    assert found is not None
    assert (found.end, found.complete_ms) == (3, 10)
    assert each.is_waiting
    assert each.advance(129) is None
    found = each.advance(130)
    assert found is not None
    assert (found.end, found.complete_ms) == (4, 20)


def test_copies_in_a_row_that_have_no_original_are_counted_from_one_decision_to_the_next() -> None:
    each = follower()
    each.take([stretch(0, range(20))], [])
    each.take([], [stretch(0, [0, 1, -1, -2, 2, 3])])
    each.note_end(20, AT)
    found = each.advance(0)
    assert found is not None
    assert found.aliens == 2
    each.take([], [stretch(6, [4, -3, -4, -5, 5, -6, -7])])
    each.note_end(20, AT)
    found = each.advance(0)
    assert found is not None
    assert found.aliens == 3
    each.take([], [stretch(13, [-8, -9])])
    each.note_end(20, AT)
    found = each.advance(0)
    assert found is None  # two and two are kept back, and decided together
    found = each.advance(200)
    assert found is not None
    assert found.aliens == 4
    each.take([], [stretch(15, [-10, 6])])
    each.note_end(20, AT)
    found = each.advance(200)
    assert found is not None
    assert found.aliens == 5  # with the four before


def test_how_many_copies_in_a_row_may_be_of_originals_that_were_forgotten() -> None:
    one, five = (Decision(0, 9, NOTHING, AT, aliens=aliens) for aliens in (1, 5))
    assert not one.may_be_older(1_000, entry=5)
    assert five.may_be_older(1_000, entry=5)
    assert five.may_be_older(5, entry=5)
    assert not one.may_be_older(5, entry=5)
    assert one.may_be_older(4, entry=5)  # so few make no such row
    assert not five.may_be_older(0, entry=5)
    assert not Decision(0, 9, NOTHING, AT).may_be_older(4, entry=5)

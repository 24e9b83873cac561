"""The five rules by which copies are told, and what is kept back; contents are letters."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

from offset_sync_contents.alignment.aligner import Aligner, AlignerState, Batch
from offset_sync_contents.alignment.mirror import Reach, Settings, Verdict
from offset_sync_contents.alignment.records import Fingerprints, Identities, Kind

DEFAULT = Settings()


def letters(text: str, first: int = 0) -> Fingerprints:
    """One record per letter; "." is an offset without one."""
    offsets = [first + at for at, letter in enumerate(text) if letter != "."]
    return Fingerprints.of(offsets, [ord(letter) for letter in text if letter != "."])


def told(found: Identities) -> list[str]:
    """Each copy as "offset=original", "offset:low-high" or "offset?"."""
    rows = zip(found.offset.tolist(), found.kind.tolist(), found.low.tolist(), found.high.tolist(), strict=True)
    return [
        f"{offset}={low}" if kind == Kind.EXACT else f"{offset}?" if kind == Kind.ALIEN else f"{offset}:{low}-{high}"
        for offset, kind, low, high in rows
    ]


def places(found: Identities) -> dict[int, int]:
    return dict(zip(found.places.original.tolist(), found.places.offset.tolist(), strict=True))


def aligned(originals: str, copies: str, settings: Settings = DEFAULT, begin: int = 0) -> Identities:
    aligner = Aligner(AlignerState(0, Reach(begin)), settings)
    batch = Batch(letters(originals, begin), begin + len(originals), letters(copies), len(copies))
    return aligner.advance(batch, 0)


def test_1_contents_that_one_original_has_tell_which_it_is() -> None:
    assert told(aligned("abcde", "abde")) == ["0=0", "1=1", "2=3", "3=4"]


def test_1_a_copy_that_is_sent_again_is_of_the_same_original() -> None:
    assert told(aligned("abcde", "abcbcde")) == ["0=0", "1=1", "2=2", "3=1", "4=2", "5=3", "6=4"]


def test_2_record_for_record_between_two_that_are_known_each_is_the_one_in_its_place() -> None:
    found = aligned("axyxbxc", "axyxbxc")
    assert told(found) == ["0=0", "1=1", "2=2", "3=3", "4=4", "5=5", "6=6"]
    assert places(found) == {}


@pytest.mark.parametrize(
    ("originals", "copies"),
    [
        ("axyxyb", "axyxb"),  # one fewer
        ("axyxyb", "axyxyxb"),  # one more
        ("axyxyb", "ayxxyb"),  # others in the places
        ("axyx.yb", "axyxyb"),  # a missing record may have been one of them
        ("axyx.yb", "axyx.yb"),
        ("axyxyb", "axy.xyb"),
    ],
)
def test_2_not_where_anything_differs_or_is_missing(originals: str, copies: str) -> None:
    found = aligned(originals, copies)
    assert (found.kind[1:-1] == Kind.BOUNDED).all()
    assert (found.kind[[0, -1]] == Kind.EXACT).all()


def test_2_not_where_the_order_was_broken_near_or_may_be() -> None:
    originals = "axyxbcdefgh"
    assert told(aligned(originals, "axyxbcdefgh"))[1] == "1=1"
    assert told(aligned(originals, "axyxbdcefgh"))[1] == "1:1-3"
    assert told(aligned(originals, "axyxbcdecdefgh"))[1] == "1:1-3"  # or it is sent again: errs to broken
    assert told(aligned(originals, "axyxbcdefgh", Settings(keeps_order=False)))[1] == "1:1-3"


def test_3_else_between_the_least_and_the_greatest_and_originals_may_be_as_late_as_the_last_of_them() -> None:
    found = aligned("axbxcxd", "axcxd")
    assert told(found) == ["0=0", "1:1-5", "2=4", "3=5", "4=6"]
    # The last x is certified; should the order not be kept after all, it may be one of the others.
    assert places(found) == {1: 3, 3: 3}
    assert places(aligned("axbxcxd", "axcyd")) == {1: 1, 3: 1, 5: 1}


def test_3_where_times_are_not_kept_only_what_is_near_the_neighbours_counts() -> None:
    originals = "x" + "abcdefghijkl" + "x" + "mnopqrstu" + "x"
    copies = "abcdefghijkl" + "x" + "opqrstu"
    assert "12:0-23" in told(aligned(originals, copies))
    assert "12=13" in told(aligned(originals, copies, Settings(keeps_timestamps=False, slack=3)))
    found = aligned("xabxcdxefx", "abxdxef", Settings(keeps_timestamps=False, slack=1))
    assert told(found) == ["0=1", "1=2", "2:3-6", "3=5", "4=6", "5=7", "6=8"]


def test_3_where_the_mirror_went_back_a_copy_follows_the_one_before_or_leads_to_the_next() -> None:
    originals = "abcxdefghijklmnxopqrs"
    copies = "abcxdefghijklm" + "xdefghijklmnxopqrs"
    settings = Settings(keeps_timestamps=False, slack=3, reorder_window=2)
    found = told(aligned(originals, copies, settings))
    assert found[14] == "14:3-15"
    assert found[-1] == "31=20"


def test_3_where_nothing_is_near_all_may_be_meant() -> None:
    found = aligned("xabcdefghijklx", "abcdefgxhijkl", Settings(keeps_timestamps=False, slack=2))
    assert "7:0-13" in told(found)


def test_4_a_copy_older_than_all_that_is_known_is_below_it() -> None:
    found = aligned("cdefgh", "abcdefgh", Settings(entry=3), begin=100)
    assert told(found)[:2] == ["0:0-99", "1:0-99"]
    # An older original may have the same contents.
    assert told(found)[2:] == [f"{at}:0-{98 + at}" for at in range(2, 8)]
    assert places(found) == {98 + at: at for at in range(2, 8)}


def test_4_as_soon_as_nothing_older_can_come_contents_tell_again() -> None:
    settings = Settings(entry=3, resend_records=3)
    aligner = Aligner(AlignerState(0, Reach(100)), settings)
    first = aligner.advance(Batch(letters("cdefghijkl", 100), 110, letters("abcdefghij"), 10), 0)
    assert set(first.kind.tolist()) == {Kind.BOUNDED}
    second = aligner.advance(Batch(letters("mn", 110), 112, letters("klmn", 10), 14), 1)
    assert told(second) == ["10=108", "11=109", "12=110", "13=111"]


def test_5_what_has_no_original_is_an_alien() -> None:
    found = aligned("abcd", "abZcd")
    assert told(found) == ["0=0", "1=1", "2?", "3=2", "4=3"]
    late = aligned("abcdefgh", "YabcdZefgh", Settings(entry=3), begin=100)
    assert [told(late)[at] for at in (0, 5)] == ["0:0-99", "5?"]


def test_what_nothing_unique_follows_is_kept_back_and_no_longer_than_it_may_be() -> None:
    aligner = Aligner(AlignerState(0, Reach(0)), Settings(hold_ms=10))
    found = aligner.advance(Batch(letters("axxb"), 4, letters("axx"), 3), 0)
    assert (told(found), aligner.state.frontier) == (["0=0"], 1)
    nothing = Fingerprints.of([], [])
    assert told(aligner.advance(Batch(nothing, 4, nothing, 3), 9)) == []
    found = aligner.advance(Batch(nothing, 4, nothing, 3), 10)
    assert (told(found), aligner.state.frontier) == (["1:1-2", "2:1-2"], 3)
    # These are no longer at hand, so records between are not certified by later ones.
    assert told(aligner.advance(Batch(nothing, 4, letters("b", 3), 4), 11)) == ["3=3"]


def test_what_is_kept_back_is_decided_with_what_follows() -> None:
    aligner = Aligner(AlignerState(0, Reach(0)), Settings())
    aligner.advance(Batch(letters("axxb"), 4, letters("axx"), 3), 0)
    found = aligner.advance(Batch(letters("x", 4), 5, letters("b", 3), 4), 1)
    assert told(found) == ["1=1", "2=2", "3=3"]
    assert aligner.state.frontier == 4


def test_an_original_that_came_after_a_copy_was_read_is_not_its_own() -> None:
    aligner = Aligner(AlignerState(0, Reach(0)), Settings())
    assert told(aligner.advance(Batch(letters("ax"), 2, letters("ax"), 2), 0)) == ["0=0", "1=1"]
    found = aligner.advance(Batch(letters("xb", 2), 4, letters("xb", 2), 4), 1)
    assert told(found) == ["2=2", "3=3"]


def test_originals_that_cannot_come_again_are_forgotten() -> None:
    aligner = Aligner(AlignerState(0, Reach(0)), Settings(resend_records=100))
    for begin in range(0, 10_000, 100):
        part = Fingerprints.of(np.arange(begin, begin + 100), np.arange(begin, begin + 100) + 1_000_000)
        aligner.advance(Batch(part, begin + 100, part, begin + 100), begin)
    assert aligner.state.reach.floor == 9_799
    part = Fingerprints.of([10_000], [1_000_000])  # the first record once more
    assert told(aligner.advance(Batch(part, 10_001, part, 10_001), 10_000)) == ["10000=10000"]


@pytest.mark.parametrize("complete_ms", [0, 100])
def test_records_sent_again_while_the_job_was_down_are_found_however_late_they_are_read(complete_ms: int) -> None:
    settings = Settings(resend_records=10**9, resend_ms=1_000, hold_ms=0)
    aligner = Aligner(AlignerState(0, Reach(0)), settings)
    log = Fingerprints.of(np.arange(52), np.arange(52) + 1_000)
    first = Fingerprints(log.offset[:50], log.fingerprint[:50])
    aligner.advance(Batch(log, 52, first, 50, complete_ms), 100)
    # Written just after, read hours later; and once it has come further for so long, it cannot come any more.
    nothing, again = Fingerprints.of([], []), Fingerprints.of([50, 51], [1_010, 1_011])
    assert told(aligner.advance(Batch(nothing, 52, again, 52, 36 * complete_ms), 10**7)) == ["50=10", "51=11"]
    more = Fingerprints.of([52, 53], [1_012, 1_050])
    assert told(aligner.advance(Batch(nothing, 52, more, 54, 37 * complete_ms), 2 * 10**7)) == ["52=12", "53=50"]
    more = aligner.advance(Batch(nothing, 52, Fingerprints.of([54], [1_013]), 55, 0), 3 * 10**7)
    assert told(more) == (["54?"] if complete_ms else ["54=13"])


def test_a_mirror_that_was_stopped_for_long_goes_back_and_needs_time_to_return() -> None:
    settings = Settings(resend_records=10**9, resend_ms=1_000, hold_ms=0)
    aligner = Aligner(AlignerState(0, Reach(0)), settings)
    log, nothing = Fingerprints.of(np.arange(50), np.arange(50) % 45 + 1_000), Fingerprints.of([], [])
    copies = Fingerprints(log.offset[:45], log.fingerprint[:45])
    aligner.advance(Batch(Fingerprints(log.offset[:45], log.fingerprint[:45]), 45, copies, 45, 100), 100)
    aligner.advance(Batch(Fingerprints(log.offset[45:], log.fingerprint[45:]), 50, nothing, 45, 0), 200)
    # It died just after, and hours later it sends 0 and 1 once more, slowly: 45 and 46 look the same.
    for at, original in ((45, 0), (46, 1)):
        copy = Fingerprints.of([at], [1_000 + original])
        found = aligner.advance(Batch(nothing, 50, copy, at + 1, 10**7 * at), 10**7 * at)
        assert told(found) == [f"{at}:{original}-{original + 45}"]


def test_who_goes_on_with_what_was_kept_back_does_not_take_it_for_later_than_it_is() -> None:
    settings = Settings(resend_records=10**9, resend_ms=1_000, hold_ms=10**9)
    log = letters("abcdebfg")
    aligner = Aligner(AlignerState(0, Reach(0)), settings)
    aligner.advance(Batch(log, 8, letters("acde"), 4, 1_000), 1_000)
    # "b" was written just after, and after it hours went by before this was read, with nothing to tell which it is.
    aligner.advance(Batch(letters(""), 8, letters("b", 4), 5, 10**7), 10**7)
    state = aligner.state
    assert (state.frontier, state.complete_ms) == (4, 1_000)


def test_who_goes_on_from_a_state_that_was_kept_says_the_same() -> None:
    rng = np.random.default_rng(5)
    fingerprint = rng.integers(0, 4_000, 3_000)
    log = Fingerprints.of(np.arange(3_000), fingerprint)

    def part(first: int, end: int) -> Fingerprints:
        return Fingerprints(log.offset[first:end], log.fingerprint[first:end])

    state = AlignerState(0, Reach(0))
    kept_on, whole = Aligner(state, Settings()), list[str]()
    again = list[str]()
    for first, end in pairwise(range(0, 3_001, 100)):
        whole += told(kept_on.advance(Batch(part(first, end), end, part(first, end), end), end))
        aligner = Aligner(state, Settings())
        again += told(
            aligner.advance(Batch(part(state.reach.first_needed, end), end, part(state.frontier, end), end), end)
        )
        state = aligner.state
    assert again == whole


def test_a_partition_without_unique_records_is_ambiguous() -> None:
    aligner = Aligner(AlignerState(0, Reach(0)), Settings(hold_ms=0))
    aligner.advance(Batch(letters("aabb"), 4, letters("aabb"), 4), 0)
    assert aligner.state.counts.verdict is Verdict.AMBIGUOUS


AHEAD_MS = 10**9
SETTINGS = Settings(resend_records=10**9, resend_ms=10_000, hold_ms=100)
LOG = Fingerprints.of(np.arange(50), np.arange(50) + 1_000)
NOTHING = Fingerprints.of([], [])


def copies(first: int, end: int, original: int) -> Fingerprints:
    return Fingerprints.of(np.arange(first, end), np.arange(original, original + end - first) + 1_000)


@pytest.mark.parametrize(("newest_ms", "complete_ms"), [(AHEAD_MS, 0), (0, AHEAD_MS), (AHEAD_MS, AHEAD_MS)])
def test_what_may_be_sent_again_is_still_known(newest_ms: int, complete_ms: int) -> None:
    """A clock that was ahead, as of the machine where the job ran before, shortens nothing once it is right again."""
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

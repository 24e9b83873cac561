"""The rules by which copies are told, and what is held back; contents are letters."""

from __future__ import annotations

import numpy as np
import pytest

from offset_sync_contents.alignment.aligner import Aligner, AlignerState, Batch
from offset_sync_contents.alignment.mirror import Reach, Settings, Verdict
from offset_sync_contents.alignment.originals import Matched
from offset_sync_contents.alignment.records import Fingerprints, Identities, Kind

# One alien in so few copies would count as a mirror that alters records, and one ambiguous one as hardly any unique.
DEFAULT = Settings()
NOTHING = Fingerprints.of([], [])


def letters(text: str, first: int = 0) -> Fingerprints:
    """One record per letter; "." is an offset without one."""
    offsets = [first + at for at, letter in enumerate(text) if letter != "."]
    return Fingerprints.of(offsets, [ord(letter) for letter in text if letter != "."])


def told(found: Identities) -> str:
    """The original of each copy, by its letter from "A" on; "-" of an ambiguous one, "?" of an alien."""
    signs = {Kind.AMBIGUOUS: "-", Kind.ALIEN: "?"}
    rows = zip(found.kind.tolist(), found.original.tolist(), strict=True)
    return "".join(signs.get(Kind(kind)) or chr(ord("A") + original) for kind, original in rows)


def aligned(originals: str, copies: str, settings: Settings = DEFAULT, begin: int = 0) -> str:
    aligner = Aligner(AlignerState(0, Reach(begin)), settings)
    batch = Batch(letters(originals, begin), begin + len(originals), letters(copies), len(copies))
    return told(aligner.advance(batch, 0))


@pytest.mark.parametrize(
    ("originals", "copies", "right"),
    [
        ("abcde", "abde", "ABDE"),  # one original has these contents
        ("abcde", "abcbcde", "ABCBCDE"),  # sent again
        ("axyxbxc", "axyxbxc", "ABCDEFG"),  # record for record between two that are known
        ("xaxb", "xaxb", "ABCD"),  # or from the beginning of both logs on
        ("yxaxb", "xaxb", "-C-E"),
        ("axyxyb", "axyxb", "A---F"),  # one fewer
        ("axyxyb", "axyxyxb", "A-----F"),  # one more
        ("axyxyb", "ayxxyb", "A----F"),  # others in the places
        ("axyx.yb", "axyxyb", "A----G"),  # a missing record may have been one of them
        ("axyxyb", "axy.xyb", "A----F"),
        ("abcd", "abZcd", "AB?CD"),  # of no original
        ("axyxbcdefgh", "axyxbdcefgh", "A-C-EGFHIJK"),  # the order was broken near
    ],
)
def test_a_copy_is_exact_only_if_it_can_be_of_no_other_original(originals: str, copies: str, right: str) -> None:
    assert aligned(originals, copies) == right


def test_where_the_mirror_may_reorder_only_unique_contents_tell() -> None:
    assert aligned("axyxbcdefgh", "axyxbcdefgh", Settings(keeps_order=False)) == "A-C-EFGHIJK"


def test_where_times_are_not_kept_only_what_is_near_the_neighbours_counts() -> None:
    originals, copies = "x" + "abcdefghijkl" + "x" + "mnopqrstu" + "x", "abcdefghijkl" + "x" + "opqrstu"
    assert aligned(originals, copies)[12] == "-"
    assert aligned(originals, copies, Settings(keeps_timestamps=False, slack=3))[12] == "N"


def test_until_the_mirror_is_found_among_originals_that_begin_late_nothing_is_exact() -> None:
    settings = Settings(entry=3, resend_records=3)
    aligner = Aligner(AlignerState(0, Reach(100)), settings)
    first = aligner.advance(Batch(letters("cdefghijkl", 100), 110, letters("abcdeZfghij"), 11), 0)
    assert told(first) == "-----?-----"
    second = aligner.advance(Batch(letters("mn", 110), 112, letters("klmn", 11), 15), 1)
    assert second.original.tolist() == [108, 109, 110, 111]
    assert set(second.kind.tolist()) == {Kind.EXACT}


def test_what_nothing_unique_follows_is_held_back_and_given_up_after_its_time() -> None:
    aligner = Aligner(AlignerState(0, Reach(0)), Settings(hold_ms=10))
    assert told(aligner.advance(Batch(letters("axxb"), 4, letters("axx"), 3), 0)) == "A"
    assert told(aligner.advance(Batch(NOTHING, 4, NOTHING, 3), 9)) == ""
    other = Aligner(aligner.state, Settings(hold_ms=10))
    assert told(aligner.advance(Batch(NOTHING, 4, NOTHING, 3), 10)) == "--"
    assert (aligner.state.frontier, other.state.frontier) == (3, 1)
    assert told(other.advance(Batch(letters("axxb"), 4, letters("xxb", 1), 4), 11)) == "BCD"


def test_what_is_held_back_is_told_with_what_follows() -> None:
    aligner = Aligner(AlignerState(0, Reach(0)), Settings())
    aligner.advance(Batch(letters("axxb"), 4, letters("axx"), 3), 0)
    found = aligner.advance(Batch(letters("x", 4), 5, letters("b", 3), 4), 1)
    assert (told(found), aligner.state.frontier) == ("BCD", 4)


@pytest.mark.parametrize(
    ("originals", "right"),
    [
        ("axyxb", "DE"),
        ("axyxbzx", "-E"),  # one of them has not come
    ],
)
def test_a_copy_counts_as_a_repetition_where_all_that_it_may_be_of_came_before(originals: str, right: str) -> None:
    aligner = Aligner(AlignerState(0, Reach(0)), Settings())
    batch = Batch(letters(originals), len(originals), letters("axyxb"), 5)
    assert told(aligner.advance(batch, 0)) == "ABCDE"
    assert told(aligner.advance(Batch(NOTHING, len(originals), letters("xb", 5), 7), 1)) == right


@pytest.mark.parametrize(("written", "right"), [(0, "CD"), (2, "-D"), (4, "-D")])
def test_what_has_rows_already_may_say_less_there_so_it_makes_no_repetition(written: int, right: str) -> None:
    aligner = Aligner(AlignerState(0, Reach(0)), Settings(), written)
    assert told(aligner.advance(Batch(letters("ax"), 2, letters("ax"), 2), 0)) == "AB"
    assert told(aligner.advance(Batch(letters("xb", 2), 4, letters("xb", 2), 4), 1)) == "CD"
    assert told(aligner.advance(Batch(NOTHING, 4, letters("xb", 4), 6), 2)) == right


def test_a_copy_that_may_be_of_one_that_was_passed_without_a_copy_is_ambiguous() -> None:
    """The first x never came: should this be it, out of order, groups would count as past it before they read it."""
    assert aligned("axcdeyfbxgh", "acdeyfbxgh") == "ACDEFGH-JK"
    assert aligned("axcdeyfbxgh", "axcdeyfbgh") == "ABCDEFGHJK"  # what is to come is passed by no group


@pytest.mark.parametrize("dip_at", range(30, 70))
def test_nothing_is_certified_near_broken_order(dip_at: int) -> None:
    """Of A x x B, with other originals for x far away, after or before a dip: within twice the window, or once."""
    fingerprint = np.arange(100) + 1_000
    fingerprint[[51, 52, 95]] = 7
    log = Fingerprints.of(np.arange(100), fingerprint)
    aligner = Aligner(AlignerState(0, Reach(0, 49), dips=(dip_at,)), Settings(reorder_window=5))
    found = aligner.advance(Batch(log, 100, Fingerprints(log.offset[50:54], log.fingerprint[50:54]), 54), 0)
    assert (told(found)[1] == "-") == (50 - 10 <= dip_at <= 53 + 5)


def test_while_copies_cannot_be_matched_none_is_exact() -> None:
    altered = Aligner(AlignerState(0, Reach(0)), Settings())
    assert told(altered.advance(Batch(letters("abcdef"), 6, letters("abYZcd"), 6), 0)) == "--??--"
    assert altered.state.counts.verdict is Verdict.MIRROR_ALTERS_RECORDS
    alike = Aligner(AlignerState(0, Reach(0)), Settings(hold_ms=0))
    assert told(alike.advance(Batch(letters("aabb"), 4, letters("aabb"), 4), 0)) == "----"
    assert alike.state.counts.verdict is Verdict.AMBIGUOUS


def test_originals_that_cannot_come_again_are_forgotten() -> None:
    aligner = Aligner(AlignerState(0, Reach(0)), Settings(resend_records=100))
    for begin in range(0, 10_000, 100):
        part = Fingerprints.of(np.arange(begin, begin + 100), np.arange(begin, begin + 100) + 1_000_000)
        aligner.advance(Batch(part, begin + 100, part, begin + 100), begin)
    assert aligner.state.reach.floor == 9_799
    part = Fingerprints.of([10_000], [1_000_000])  # the first record once more
    assert aligner.advance(Batch(part, 10_001, part, 10_001), 10_000).original.tolist() == [10_000]


@pytest.mark.parametrize(("newest_ms", "complete_ms"), [(10**9, 0), (0, 10**9), (10**9, 10**9)])
def test_a_clock_that_was_ahead_shortens_nothing(newest_ms: int, complete_ms: int) -> None:
    state = AlignerState(10, Reach(0, 9, marks=((100, 9),), newest_ms=newest_ms), complete_ms)
    aligner = Aligner(state, Settings(resend_records=10**9, resend_ms=10_000, hold_ms=100))
    log = Fingerprints.of(np.arange(50), np.arange(50) + 1_000)
    aligner.advance(Batch(log, 50, Fingerprints.of([10], [1_010]), 11), 200)
    found = aligner.advance(Batch(NOTHING, 50, Fingerprints.of(np.arange(11, 15), np.arange(1_002, 1_006)), 15), 300)
    assert found.original.tolist() == [2, 3, 4, 5]
    assert set(found.kind.tolist()) == {Kind.EXACT}


@pytest.mark.parametrize("seed", range(20))
def test_matched_originals_are_those_that_were_added(seed: int) -> None:
    rng, found, right = np.random.default_rng(seed), Matched(), set[int]()
    for _ in range(rng.integers(1, 8)):
        more = rng.integers(0, 60, rng.integers(0, 20))
        found.add(more)
        right |= set(more.tolist())
        assert found.holds(np.arange(-1, 62)).tolist() == [each in right for each in range(-1, 62)]
    found.forget_below(30)
    assert found.holds(np.arange(30, 62)).tolist() == [each in right for each in range(30, 62)]
